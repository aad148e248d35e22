#pragma once

#include <memory>
#include <string>

#include "fixtures/machine/precision.h"
#include "ops/core/kernel.h"
#include "ops/core/problem.h"

// LibTorch's oneDNN on weights that are reordered once: the operators that TorchInductor calls for
// frozen weights.
namespace fathom::ops::torch_packed {

/// Why this LibTorch does not run these operators in a precision on this CPU; empty where it does.
const std::string& refusal(fixtures::Precision precision);

/// The forward pass of a matrix product or of a convolution, at the current thread count. The other
/// input is brought into the operator's layout beforehand, too: a matrix without gaps, images with
/// the channels last. Throws NotSupported for other problems, c10::Error where LibTorch fails.
std::unique_ptr<Kernel> kernel(const Problem& problem);

}  // namespace fathom::ops::torch_packed
