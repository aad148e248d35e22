#pragma once

#include <functional>
#include <optional>

#include "ops/core/op.h"
#include "ops/core/random_inputs.h"

namespace fathom::ops {

/// An op made of several LibTorch calls; autograd composes its gradient.
struct Composite {
  /// Draws the inputs: first those with a gradient, all of which are of floating type.
  std::function<Tensors(RandomInputs&)> inputs;
  std::size_t with_gradient;  ///< number of inputs with a gradient
  std::function<Tensors(const Tensors&)> forward;
  std::size_t outputs;
  /// Called with the inputs before the first call. It may move their data: cuDNN reads the weights
  /// of an LSTM in place only from one buffer. Null: nothing to do.
  std::function<void(const Tensors&)> prepare = nullptr;
  /// Multiply-adds of the matrix products of forward. Only these count as FLOPs (benchdnn's rule).
  double macs;
  double read;       ///< elements of floating type that forward reads
  double written;    ///< elements that forward writes
  double gradients;  ///< elements of the inputs' gradients, which backward writes
  std::optional<double> backward_read = {};  ///< elements that it reads; absent: read + written
  std::function<Tensors(const Tensors&)> native = nullptr;  ///< forward in this project's kernels
  /// Where `native` is not LibTorch's.
  std::vector<fixtures::Device> native_on = {fixtures::Device::kCpu, fixtures::Device::kCuda};
  std::vector<fixtures::Device> native_in_steps = {};  ///< where the workloads' steps run `native`
  /// Op::problem of both passes, for `vendors`.
  std::function<Problem(const Tensors& inputs, const Tensors& outputs)> problem = nullptr;
  std::vector<Backend> vendors = {};
  double tolerance_factor = 4;  ///< of the gradients, which pass through a chain of rounded results
  double integers = 0;          ///< indices that each pass reads
  double untouched = 0;  ///< elements of floating type of the inputs that forward never reads
};

/// Forward takes the inputs. Backward takes the inputs and then the gradient of each output; it
/// returns the gradients of the inputs that have one.
std::unique_ptr<Op> make_composite(Composite composite, Pass pass);

}  // namespace fathom::ops
