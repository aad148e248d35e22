#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/core/op.h"

namespace fathom::ops {

/// The values of an operand: no operand, normal, positive, between 0 and 1, or normal with some
/// beyond the limit of the clipped ReLU.
enum class Values { kNone, kNormal, kPositive, kShare, kBeyondClip };

/// An element-wise op type over the operands {x} or {x, y}.
struct ElementwiseRule {
  std::string_view name;
  std::vector<std::string_view> aten;  ///< OpType::aten
  std::array<Values, 2> operands;
  double flops;  ///< per output element
  at::Tensor (*forward)(const Tensors& in);
  /// Forward with a plain number as y; null where there is no such form.
  at::Tensor (*with_number)(const at::Tensor& x) = nullptr;
  /// The gradient of x from the gradient and the result of forward; null where autograd composes it
  /// from other types.
  at::Tensor (*backward)(const at::Tensor& gradient, const at::Tensor& result,
                         const Tensors& in) = nullptr;
  /// Whether a call to one of `aten` is of this type; null where all calls are.
  bool (*is_type)(const ObservedCall& call) = nullptr;
  /// The in-place form; null where repeated calls would let the values overflow or vanish.
  at::Tensor (*in_place)(const Tensors& in) = nullptr;
  bool loss = false;  ///< the result is one number

  /// The op in a vendor's library. `unary_kind` also serves the form with a plain number.
  std::optional<UnaryProblem::Kind> unary_kind = {};
  std::array<float, 2> constants = {};
  std::optional<BinaryProblem::Kind> binary_kind = {};

  bool binary() const { return operands[1] != Values::kNone; }
};

/// The table of the family.
const std::vector<ElementwiseRule>& elementwise_rules();

}  // namespace fathom::ops
