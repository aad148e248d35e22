#pragma once

#include <functional>

#include "ops/core/op.h"
#include "ops/core/random_inputs.h"

namespace fathom::ops {

/// An op of several calls of LibTorch, with autograd's gradient.
struct Composite {
  /// Its inputs: first those that have gradients, all of floating type.
  std::function<Tensors(RandomInputs&)> leaves;
  std::size_t with_gradient;
  std::function<Tensors(const Tensors&)> forward;
  std::size_t outputs;
  /// Multiply-adds of its matrix products, which alone count as FLOPs (benchdnn's rule).
  double macs;
  double read;       ///< elements of floating type that forward reads
  double written;    ///< and writes
  double gradients;  ///< elements of the inputs' gradients, which backward writes
  std::function<Tensors(const Tensors&)> native = nullptr;  ///< forward by our own kernels
  bool native_in_steps = false;                             ///< Op::native_in_steps
  /// Op::problem of both passes, for the backends that it lists.
  std::function<Problem(const Tensors& inputs, const Tensors& outputs)> problem = nullptr;
  std::vector<Backend> vendors = {};
  double tolerance_factor = 4;  ///< of a gradient, which goes through a chain of rounded results
  double integers = 0;          ///< that both read
  double untouched = 0;  ///< elements of floating type of the leaves that forward does not touch
};

/// Forward over the leaves; backward over the leaves and then a gradient to each output gives those
/// to the leaves that have one.
std::unique_ptr<Op> make_composite(Composite composite, Pass pass);

}  // namespace fathom::ops
