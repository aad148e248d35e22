#pragma once

#include <functional>
#include <memory>

#include "ops/cuda/graphs.h"

namespace fathom::models {

/// Captures CUDA graphs (ops::capture_graphs). Throws std::runtime_error with LibTorch's reason: of
/// the call that cannot be captured, such as one that waits for the GPU, or of the whole step.
std::unique_ptr<ops::CudaGraphs> captured(const ops::CaptureCall& call);

}  // namespace fathom::models
