#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace fathom::ops {

/// A forward pass with its own gradient, which replaces the one that autograd would compose.
struct CustomFunction {
  using List = std::vector<at::Tensor>;

  struct Result {
    List outputs;
    List saved;  ///< inputs and outputs that backward reads
  };

  /// What a backward pass needs.
  struct Request {
    List saved;
    List gradients;            ///< of the outputs
    std::vector<bool> wanted;  ///< for each input, whether its gradient is needed
  };

  std::function<Result()> forward;               ///< runs once, without autograd
  std::function<List(const Request&)> backward;  ///< the gradients of the inputs
  /// Whether `backward` gets undefined gradients where they are 0, instead of tensors of zeros.
  bool undefined_gradients = false;
};

/// Runs `function`, records it in autograd's graph as a function of `inputs`, and returns its
/// outputs. Only custom_function.cc instantiates torch::autograd::Function: it compiles slowly.
CustomFunction::List apply(const CustomFunction& function, const CustomFunction::List& inputs);

}  // namespace fathom::ops
