#pragma once

#include <ATen/core/stack.h>

#include <string>

namespace fathom::models {

/// Takes its arguments from the end of the stack and puts its results there.
using ScalarFunction = void (*)(torch::jit::Stack& stack);

/// A function of Python's numbers in a graph of torch.export, by its name there:
/// "_operator.floordiv". Null if there is none of this name.
ScalarFunction scalar_function(const std::string& target);

}  // namespace fathom::models
