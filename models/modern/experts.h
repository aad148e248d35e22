#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "models/modern/layers.h"

namespace fathom::models {

struct ExpertSizes {
  int64_t width;
  int64_t inner;   ///< units of an expert's gated layer
  int64_t count;   ///< of experts
  int64_t chosen;  ///< experts of a token
  double deviation;
};

/// What a router decided for P pairs of a token and an expert.
struct Routed {
  at::Tensor scores;   ///< [tokens, experts], before the softmax
  at::Tensor offsets;  ///< [experts], int32: where the pairs of each expert end
};

/// A mixture of gated layers. Each token goes through those with the largest scores and gets their
/// sum, weighted by the softmax of these scores. No token is dropped.
class ExpertsImpl : public torch::nn::Module {
 public:
  explicit ExpertsImpl(const ExpertSizes& sizes);

  /// [N, T, width] to the same.
  at::Tensor forward(const at::Tensor& x);
  /// Of the last forward(). The scores, through which gradients flow, are given once: kept, they
  /// would keep the memory of a whole step.
  Routed take_routed() { return {std::exchange(scores_, {}), offsets_}; }
  /// The weights that the last forward() read: the router's and those of the experts that some
  /// token chose.
  std::vector<at::Tensor> read() const;

 private:
  int64_t chosen_;
  Matrix router_;
  at::Tensor gate_up_;  ///< [experts, 2 · inner, width]
  at::Tensor down_;     ///< [experts, width, inner]
  at::Tensor scores_;
  at::Tensor offsets_;
};
TORCH_MODULE(Experts);

/// The load-balancing loss of Fedus, Zoph and Shazeer, "Switch Transformers", 2021, equations 4 to
/// 6, over the tokens of all layers: E · Σ f · P, where f is the share of the pairs that an expert
/// gets and P its mean probability. It is 1 where all experts get the same.
at::Tensor load_balancing_loss(const std::vector<Routed>& layers);

}  // namespace fathom::models
