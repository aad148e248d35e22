#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace fathom::ops {

/// Sampled classes, one set for each of T positions.
struct Candidates {
  at::Tensor ids;    ///< [T, S] int64, distinct within a row
  at::Tensor tries;  ///< [T, 1] float, the number of draws that the row needed
};

/// Draws `count` distinct classes out of `classes` for each of `positions`, from the log-uniform
/// distribution P(k) = log((k + 2) / (k + 1)) / log(classes + 1), which is near Zipf's law for
/// words ranked by frequency. Runs on the CPU, with `generator` or LibTorch's default CPU
/// generator. Throws std::invalid_argument for more candidates than classes.
Candidates draw_log_uniform(int64_t positions, int64_t count, int64_t classes,
                            const std::optional<at::Generator>& generator = std::nullopt);

/// The cross-entropy of each sample against its own label and the candidates of its position
/// instead of all V classes: Jean et al., "On using very large target vocabulary", 2015, section 3.
/// Subtracts log(expected count) from each logit. Masks candidates that equal the sample's label.
/// `x` is [T, N, H], `weight` [V, H], `bias` [V], `labels` [T, N] int64; the result is [T, N] float
/// (or double).
at::Tensor sampled_softmax(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           const at::Tensor& labels, const Candidates& candidates);

}  // namespace fathom::ops
