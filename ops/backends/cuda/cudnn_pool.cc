#include <array>

#include "ops/backends/cuda/cudnn_descriptors.h"
#include "ops/core/kernel.h"

namespace fathom::ops::cuda {
namespace {

using Pooling = Descriptor<cudnnPoolingDescriptor_t, cudnnCreatePoolingDescriptor,
                           cudnnDestroyPoolingDescriptor>;

cudnnPoolingMode_t mode(PoolProblem::Kind kind) {
  switch (kind) {
    case PoolProblem::Kind::kMax:
      return CUDNN_POOLING_MAX;
    case PoolProblem::Kind::kMean:
      return CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
    case PoolProblem::Kind::kPaddedMean:
      return CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
  }
  throw std::runtime_error("cuDNN has no pooling of this kind");
}

Pooling pooling(const PoolProblem& problem, cudnnTensorDescriptor_t x) {
  const auto& kernel = problem.kernel;
  const auto& padding = problem.padding;
  const auto& stride = problem.stride;
  if (problem.dilation[0] != 1 || problem.dilation[1] != 1)
    throw NotSupported("cuDNN has no dilated pooling");
  Pooling made;
  check(cudnnSetPooling2dDescriptor(made, mode(problem.kind), CUDNN_PROPAGATE_NAN,
                                    to_int(kernel[0]), to_int(kernel[1]), to_int(padding[0]),
                                    to_int(padding[1]), to_int(stride[0]), to_int(stride[1])));
  std::array<int, 4> sizes{};
  check(cudnnGetPooling2dForwardOutputDim(made, x, &sizes[0], &sizes[1], &sizes[2], &sizes[3]));
  if (sizes[2] != problem.y.sizes[2] || sizes[3] != problem.y.sizes[3])
    throw NotSupported("cuDNN has no pooling windows that end outside the padded image");
  return made;
}

}  // namespace

Plan cudnn_plan(const PoolProblem& problem, const Target& target) {
  const cudnnHandle_t handle = cudnn_handle(target.stream);
  const Tensor x = tensor(problem.x);
  const Tensor y = tensor(problem.y);
  const Pooling windows = pooling(problem, x);
  void* const x_data = problem.x.data;
  void* const y_data = problem.y.data;
  if (!problem.dx) {
    return {.implementation = "pooling", .run = [=] {
              check(cudnnPoolingForward(handle, windows, &kOne, x, x_data, &kZero, y, y_data));
            }};
  }
  const Memory result = allocate(bytes(problem.y));
  check(cudnnPoolingForward(handle, windows, &kOne, x, x_data, &kZero, y, result.get()));
  const Tensor dx = tensor(*problem.dx);
  void* const dx_data = problem.dx->data;
  return {.implementation = "pooling", .run = [=] {
            check(cudnnPoolingBackward(handle, windows, &kOne, y, result.get(), y, y_data, x,
                                       x_data, &kZero, dx, dx_data));
          }};
}

}  // namespace fathom::ops::cuda
