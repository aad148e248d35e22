#include "models/modern/mamba_net.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <cmath>
#include <utility>

#include "models/modern/parallel_fill.h"
#include "ops/kernels/fused_composites.h"
#include "ops/kernels/sequence/causal_conv1d.h"

namespace fathom::models {
namespace {

constexpr double kEmbeddingDeviation = 0.02;

/// PyTorch's default of a dense layer.
double default_bound(int64_t inputs) { return 1 / std::sqrt(static_cast<double>(inputs)); }

Matrix uniform_matrix(int64_t outputs, int64_t inputs, double bound) {
  return Matrix(drawn_uniform({outputs, inputs}, bound));
}

/// The bias that gives step sizes from 0.001 to 0.1, uniform in their logarithm.
at::Tensor initial_steps(int64_t channels) {
  constexpr double kShortest = 0.001;
  constexpr double kLongest = 0.1;
  const double low = std::log(kShortest);
  const at::Tensor steps = at::empty({channels}).uniform_(low, std::log(kLongest)).exp();
  return steps.expm1().log();  // softplus gives the steps
}

}  // namespace

void advance(MambaCache& cache) {
  for (MambaStates& layer : cache) layer.before = std::exchange(layer.after, {});
}

MambaBlockImpl::MambaBlockImpl(const MambaSizes& sizes)
    : rank_(sizes.rank),
      states_(sizes.states),
      norm_(register_module("norm", RmsNorm(sizes.width))),
      in_(register_module(
          "in", uniform_matrix(2 * sizes.inner, sizes.width, default_bound(sizes.width)))),
      taps_(register_parameter(
          "taps", drawn_uniform({sizes.inner, sizes.taps}, default_bound(sizes.taps)))),
      taps_bias_(
          register_parameter("taps_bias", drawn_uniform({sizes.inner}, default_bound(sizes.taps)))),
      selection_(register_module(
          "selection",
          uniform_matrix(sizes.rank + 2 * sizes.states, sizes.inner, default_bound(sizes.inner)))),
      steps_(register_module("steps",
                             uniform_matrix(sizes.inner, sizes.rank, default_bound(sizes.rank)))),
      steps_bias_(register_parameter("steps_bias", initial_steps(sizes.inner))),
      log_rates_(register_parameter("log_rates", at::arange(1, sizes.states + 1, at::kFloat)
                                                     .log()
                                                     .expand({sizes.inner, sizes.states})
                                                     .contiguous())),
      skip_(register_parameter("skip", at::ones({sizes.inner}))),
      out_(register_module(
          "out", uniform_matrix(
                     sizes.width, sizes.inner,
                     default_bound(sizes.inner) / std::sqrt(static_cast<double>(sizes.layers))))) {}

Residual MambaBlockImpl::forward(const Residual& in, MambaStates* kept) {
  const auto [x, normal] = norm_(in);
  const auto parts = in_(normal).chunk(2, -1);
  const auto [y, state] = scanned(convolved(parts[0], /*has_history=*/false), parts[1], {});
  if (kept != nullptr) {
    const int64_t before = taps_.size(1) - 1;
    kept->after = {
        .window = at::constant_pad_nd(parts[0], {0, 0, before, 0}).slice(1, -before).clone(),
        .scan = state};
  }
  return {x, out_(y)};
}

Residual MambaBlockImpl::decode(const Residual& in, MambaStates& cache) {
  const auto [x, normal] = norm_(in);
  const auto parts = in_(normal).chunk(2, -1);
  const at::Tensor window = at::cat({cache.before.window, parts[0]}, 1);
  const auto [y, state] =
      scanned(convolved(window, /*has_history=*/true), parts[1], cache.before.scan);
  cache.after = {.window = window.slice(1, 1), .scan = state};
  return {x, out_(y)};
}

at::Tensor MambaBlockImpl::convolved(const at::Tensor& x, bool has_history) const {
  const auto convolve = ops::fused_composites() ? ops::fused_causal_conv1d : ops::causal_conv1d;
  return convolve({.x = x, .weight = taps_, .bias = taps_bias_, .has_history = has_history});
}

ops::ScanResult MambaBlockImpl::scanned(const at::Tensor& u, const at::Tensor& z,
                                        const at::Tensor& state) const {
  const auto selected = selection_->forward(u).split_with_sizes({rank_, states_, states_}, -1);
  return ops::fused_selective_scan({.u = u,
                                    .delta = steps_->forward(selected[0]),
                                    .a = -log_rates_.exp(),
                                    .b = selected[1],
                                    .c = selected[2],
                                    .d = skip_,
                                    .z = z,
                                    .delta_bias = steps_bias_},
                                   state);
}

MambaNetImpl::MambaNetImpl(const MambaSizes& sizes)
    : tokens_(register_module(
          "tokens", Matrix(drawn_normal({sizes.vocabulary, sizes.width}, kEmbeddingDeviation)))),
      norm_(RmsNorm(sizes.width)) {
  for (int64_t layer = 0; layer < sizes.layers; ++layer)
    blocks_.emplace_back(register_module("h" + std::to_string(layer), MambaBlock(sizes)));
  register_module("norm", norm_);
}

at::Tensor MambaNetImpl::forward(const at::Tensor& ids, MambaCache* kept) {
  if (kept != nullptr) kept->resize(blocks_.size());
  Residual x{at::embedding(tokens_->weight, ids), {}};
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer)
    x = blocks_[layer]->forward(x, kept == nullptr ? nullptr : &(*kept)[layer]);
  return norm_(x).normalised;
}

at::Tensor MambaNetImpl::decode(const at::Tensor& ids, MambaCache& cache) {
  Residual x{at::embedding(tokens_->weight, ids), {}};
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer)
    x = blocks_[layer]->decode(x, cache[layer]);
  return norm_(x).normalised;
}

at::Tensor MambaNetImpl::logits(const at::Tensor& states) { return tokens_(states); }

}  // namespace fathom::models
