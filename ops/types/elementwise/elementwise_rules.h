#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/core/op.h"

namespace fathom::ops {

/// What an operand holds: none, normal draws, positive ones, or some beyond the clip of a ReLU.
enum class Values { kNone, kNormal, kPositive, kBeyondClip };

/// One type that makes an element of each element, over operands {x} or {x, y}: what LibTorch calls
/// it, forward and backward.
struct ElementwiseRule {
  std::string_view name;
  std::vector<std::string_view> aten;  ///< OpType::aten
  std::array<Values, 2> operands;
  double flops;  ///< an output element
  at::Tensor (*forward)(const Tensors& in);
  /// Where y can be a plain number.
  at::Tensor (*with_number)(const at::Tensor& x) = nullptr;
  /// The gradient to x, of the output's gradient and the forward pass's result; null where
  /// autograd makes it of other types.
  at::Tensor (*backward)(const at::Tensor& gradient, const at::Tensor& result,
                         const Tensors& in) = nullptr;
  /// Which calls of its ATen names are of this type; null for all.
  bool (*is_type)(const ObservedCall& call) = nullptr;
  bool accumulates = false;  ///< has a form in place, which sums gradients

  /// What a vendor's library calls it; that of one operand is also what it is with a plain number.
  std::optional<UnaryProblem::Kind> unary = {};
  std::array<float, 2> constants = {};
  std::optional<BinaryProblem::Kind> of_two = {};

  bool binary() const { return operands[1] != Values::kNone; }
};

/// All of them.
const std::vector<ElementwiseRule>& elementwise_rules();

}  // namespace fathom::ops
