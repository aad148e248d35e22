#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace fathom::ops {

/// Classes drawn in place of all, a set for each of T positions.
struct Candidates {
  at::Tensor ids;    ///< [T, S] int64, no two alike in a row
  at::Tensor tries;  ///< [T, 1] float, the draws that a row took
};

/// RandomInputs `count` different ones of `classes` classes for each of `positions` from the
/// log-uniform distribution P(k) = log((k + 2) / (k + 1)) / log(classes + 1), near Zipf's law for
/// words in order of frequency. On the CPU, by LibTorch's generator there or another one for the
/// CPU. Throws std::invalid_argument for more candidates than classes.
Candidates draw_log_uniform(int64_t positions, int64_t count, int64_t classes,
                            const std::optional<at::Generator>& generator = std::nullopt);

/// The cross-entropy of each sample against the candidates of its position and its own label
/// instead of all V classes: Jean et al., "On using very large target vocabulary", 2015, section 3.
/// From every logit goes the logarithm of how often its class was to be expected among the
/// candidates; candidates that are the sample's own label don't count. `x` is [T, N, H], `weight`
/// [V, H], `bias` [V], `labels` [T, N] int64; the result [T, N] float (or double).
at::Tensor sampled_softmax(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           const at::Tensor& labels, const Candidates& candidates);

}  // namespace fathom::ops
