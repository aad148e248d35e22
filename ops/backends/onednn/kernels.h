#pragma once

#include <memory>

#include "ops/core/kernel.h"
#include "ops/core/problem.h"

namespace fathom::ops::onednn {

// One file per primitive, or per few similar ones. They throw dnnl::error.
std::unique_ptr<Kernel> make(const MatmulProblem& problem);
std::unique_ptr<Kernel> make(const ConvolutionProblem& problem);
std::unique_ptr<Kernel> make(const QuantizedMatmulProblem& problem);
std::unique_ptr<Kernel> make(const QuantizedConvolutionProblem& problem);
std::unique_ptr<Kernel> make(const PoolProblem& problem);
std::unique_ptr<Kernel> make(const UpsampleProblem& problem);
std::unique_ptr<Kernel> make(const ResponseNormProblem& problem);
std::unique_ptr<Kernel> make(const BatchNormProblem& problem);
std::unique_ptr<Kernel> make(const LayerNormProblem& problem);
std::unique_ptr<Kernel> make(const GroupNormProblem& problem);
std::unique_ptr<Kernel> make(const SoftmaxProblem& problem);
std::unique_ptr<Kernel> make(const UnaryProblem& problem);
std::unique_ptr<Kernel> make(const BinaryProblem& problem);
std::unique_ptr<Kernel> make(const ReductionProblem& problem);
std::unique_ptr<Kernel> make(const ConcatProblem& problem);
std::unique_ptr<Kernel> make(const CopyProblem& problem);
std::unique_ptr<Kernel> make(const LstmProblem& problem);
std::unique_ptr<Kernel> make(const GruProblem& problem);
std::unique_ptr<Kernel> make(const ClippedRnnProblem& problem);

}  // namespace fathom::ops::onednn
