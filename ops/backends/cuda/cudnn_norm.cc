#include "ops/backends/cuda/cudnn_descriptors.h"
#include "ops/core/kernel.h"

namespace fathom::ops::cuda {
namespace {

using ResponseNorm =
    Descriptor<cudnnLRNDescriptor_t, cudnnCreateLRNDescriptor, cudnnDestroyLRNDescriptor>;

constexpr cudnnLRNMode_t kAcross = CUDNN_LRN_CROSS_CHANNEL_DIM1;
constexpr cudnnBatchNormMode_t kSpatial = CUDNN_BATCHNORM_SPATIAL;

/// A descriptor that merges all axes after the channels into one.
Tensor images(const Buffer& buffer) {
  expect_contiguous(buffer);
  int64_t plane = 1;
  for (std::size_t axis = 2; axis < buffer.sizes.size(); ++axis) plane *= buffer.sizes[axis];
  return contiguous_tensor(buffer.element, {buffer.sizes[0], buffer.sizes[1], plane, 1});
}

}  // namespace

Plan cudnn_plan(const ResponseNormProblem& problem, const Target& target) {
  if (problem.size % 2 == 0)
    throw NotSupported("cuDNN has no window of this size around a channel");
  const cudnnHandle_t handle = cudnn_handle(target.stream);
  ResponseNorm norm;
  check(cudnnSetLRNDescriptor(norm, static_cast<unsigned>(problem.size), problem.alpha,
                              problem.beta, problem.bias));  // cuDNN divides alpha by the size
  const Tensor x = tensor(problem.x);
  const Tensor y = tensor(problem.y);
  void* const x_data = problem.x.data;
  void* const y_data = problem.y.data;
  if (!problem.dx) {
    return {.implementation = "cross channel", .run = [=] {
              check(cudnnLRNCrossChannelForward(handle, norm, kAcross, &kOne, x, x_data, &kZero, y,
                                                y_data));
            }};
  }
  const Memory result = allocate(bytes(problem.y));
  check(cudnnLRNCrossChannelForward(handle, norm, kAcross, &kOne, x, x_data, &kZero, y,
                                    result.get()));
  const Tensor dx = tensor(*problem.dx);
  void* const dx_data = problem.dx->data;
  return {.implementation = "cross channel", .run = [=] {
            check(cudnnLRNCrossChannelBackward(handle, norm, kAcross, &kOne, y, result.get(), y,
                                               y_data, x, x_data, &kZero, dx, dx_data));
          }};
}

Plan cudnn_plan(const BatchNormProblem& problem, const Target& target) {
  if (problem.statistics && problem.gradients)
    throw NotSupported("cuDNN computes gradients with the statistics of the batch only");
  const cudaStream_t stream = target.stream;
  const cudnnHandle_t handle = cudnn_handle(stream);
  const Tensor x = images(problem.x);
  const Tensor y = images(problem.y);
  Tensor channels;
  check(cudnnDeriveBNTensorDescriptor(channels, x, kSpatial));
  const InFp32 weight(problem.weight, stream);
  const InFp32 bias(problem.bias, stream);
  void* const x_data = problem.x.data;
  void* const y_data = problem.y.data;
  const double epsilon = problem.epsilon;
  if (problem.statistics) {
    const InFp32 mean(problem.statistics->mean, stream);
    const InFp32 variance(problem.statistics->variance, stream);
    return {.implementation = "spatial", .run = [=] {
              check(cudnnBatchNormalizationForwardInference(
                  handle, kSpatial, &kOne, &kZero, x, x_data, y, y_data, channels, weight.fp32.data,
                  bias.fp32.data, mean.fp32.data, variance.fp32.data, epsilon));
            }};
  }
  const Memory mean = allocate(bytes(weight.fp32));
  const Memory inverse_deviation = allocate(bytes(weight.fp32));
  const auto forward = [=](void* into) {
    check(cudnnBatchNormalizationForwardTraining(
        handle, kSpatial, &kOne, &kZero, x, x_data, y, into, channels, weight.fp32.data,
        bias.fp32.data, 0, nullptr, nullptr, epsilon, mean.get(), inverse_deviation.get()));
  };
  if (!problem.gradients) return {.implementation = "spatial", .run = [=] { forward(y_data); }};

  forward(allocate(bytes(problem.y)).get());  // computes the statistics of the batch
  const auto& gradients = *problem.gradients;
  const Tensor dx = images(gradients.x);
  void* const dx_data = gradients.x.data;
  const InFp32 dweight(gradients.weight, stream);
  const InFp32 dbias(gradients.bias, stream);
  return {.implementation = "spatial",
          .run =
              [=] {
                check(cudnnBatchNormalizationBackward(
                    handle, kSpatial, &kOne, &kZero, &kOne, &kZero, x, x_data, y, y_data, dx,
                    dx_data, channels, weight.fp32.data, dweight.fp32.data, dbias.fp32.data,
                    epsilon, mean.get(), inverse_deviation.get()));
              },
          .write_outputs =
              [=] {
                dweight.write_back(stream);
                dbias.write_back(stream);
              }};
}

}  // namespace fathom::ops::cuda
