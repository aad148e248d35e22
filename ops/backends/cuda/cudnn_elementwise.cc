#include <optional>

#include "ops/backends/cuda/cudnn_descriptors.h"
#include "ops/core/kernel.h"

namespace fathom::ops::cuda {
namespace {

using Reduction = Descriptor<cudnnReduceTensorDescriptor_t, cudnnCreateReduceTensorDescriptor,
                             cudnnDestroyReduceTensorDescriptor>;

constexpr cudnnSoftmaxMode_t kOverChannels = CUDNN_SOFTMAX_MODE_CHANNEL;

/// A descriptor of [outer, axis, inner, 1].
Tensor around(const Buffer& buffer, int axis) {
  expect_contiguous(buffer);
  std::vector<int64_t> sizes{1, 1, 1, 1};
  for (int i = 0; i < static_cast<int>(buffer.sizes.size()); ++i) {
    const std::size_t part = i < axis ? 0 : i == axis ? 1 : 2;
    sizes[part] *= buffer.sizes[static_cast<std::size_t>(i)];
  }
  return contiguous_tensor(buffer.element, sizes);
}

std::optional<cudnnActivationMode_t> mode(const UnaryProblem& problem) {
  switch (problem.kind) {
    case UnaryProblem::Kind::kClamp:
      if (problem.constants[0] != 0) return std::nullopt;
      return CUDNN_ACTIVATION_CLIPPED_RELU;
    case UnaryProblem::Kind::kRelu:
      return CUDNN_ACTIVATION_RELU;
    case UnaryProblem::Kind::kSigmoid:
      return CUDNN_ACTIVATION_SIGMOID;
    case UnaryProblem::Kind::kTanh:
      return CUDNN_ACTIVATION_TANH;
    default:
      return std::nullopt;
  }
}

}  // namespace

Plan cudnn_plan(const SoftmaxProblem& problem, const Target& target) {
  const cudnnHandle_t handle = cudnn_handle(target.stream);
  const auto algorithm = problem.log ? CUDNN_SOFTMAX_LOG : CUDNN_SOFTMAX_ACCURATE;
  const char* const name = problem.log ? "SOFTMAX_LOG" : "SOFTMAX_ACCURATE";
  const Tensor x = around(problem.x, problem.axis);
  const Tensor y = around(problem.y, problem.axis);
  void* const x_data = problem.x.data;
  void* const y_data = problem.y.data;
  const auto forward = [=](void* into) {
    check(cudnnSoftmaxForward(handle, algorithm, kOverChannels, &kOne, x, x_data, &kZero, y, into));
  };
  if (!problem.dx) return {.implementation = name, .run = [=] { forward(y_data); }};
  const Memory result = allocate(bytes(problem.y));
  forward(result.get());
  const Tensor dx = around(*problem.dx, problem.axis);
  void* const dx_data = problem.dx->data;
  return {.implementation = name, .run = [=] {
            check(cudnnSoftmaxBackward(handle, algorithm, kOverChannels, &kOne, y, result.get(), y,
                                       y_data, &kZero, dx, dx_data));
          }};
}

Plan cudnn_plan(const UnaryProblem& problem, const Target& target) {
  const auto found = mode(problem);
  if (!found) throw NotSupported("cuDNN has no such activation");
  const cudnnHandle_t handle = cudnn_handle(target.stream);
  Activation activation;
  check(cudnnSetActivationDescriptor(activation, *found, CUDNN_PROPAGATE_NAN,
                                     double{problem.constants[1]}));
  const Tensor x = tensor(problem.x);
  const Tensor y = tensor(problem.y);
  void* const x_data = problem.x.data;
  void* const y_data = problem.y.data;
  const auto forward = [=](void* into) {
    check(cudnnActivationForward(handle, activation, &kOne, x, x_data, &kZero, y, into));
  };
  if (!problem.dx) return {.implementation = "activation", .run = [=] { forward(y_data); }};
  const Memory result = allocate(bytes(problem.y));
  forward(result.get());
  const Tensor dx = tensor(*problem.dx);
  void* const dx_data = problem.dx->data;
  return {.implementation = "activation", .run = [=] {
            check(cudnnActivationBackward(handle, activation, &kOne, y, result.get(), y, y_data, x,
                                          x_data, &kZero, dx, dx_data));
          }};
}

Plan cudnn_plan(const ReductionProblem& problem, const Target& target) {
  const cudnnHandle_t handle = cudnn_handle(target.stream);
  Reduction reduction;
  check(cudnnSetReduceTensorDescriptor(
      reduction, problem.mean ? CUDNN_REDUCE_TENSOR_AVG : CUDNN_REDUCE_TENSOR_ADD, CUDNN_DATA_FLOAT,
      CUDNN_PROPAGATE_NAN, CUDNN_REDUCE_TENSOR_NO_INDICES, CUDNN_32BIT_INDICES));
  const Tensor x = tensor(problem.x);
  const Tensor y = tensor(problem.y);
  void* const x_data = problem.x.data;
  void* const y_data = problem.y.data;
  std::size_t scratch_bytes = 0;
  check(cudnnGetReductionWorkspaceSize(handle, reduction, x, y, &scratch_bytes));
  const Memory scratch = workspace(scratch_bytes);
  return {.implementation = "reduce",
          .run =
              [=] {
                check(cudnnReduceTensor(handle, reduction, nullptr, 0, scratch.get(), scratch_bytes,
                                        &kOne, x, x_data, &kZero, y, y_data));
              },
          .workspace_bytes = scratch_bytes};
}

}  // namespace fathom::ops::cuda
