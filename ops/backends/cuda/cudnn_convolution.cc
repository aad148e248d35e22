#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <tuple>

#include "ops/backends/cuda/cudnn_descriptors.h"

namespace fathom::ops::cuda {
namespace {

constexpr std::size_t kMaxWorkspace = std::size_t{1} << 30;
constexpr int kMaxAlgorithms = 32;  // cuDNN lists an algorithm once per math type

using Filter =
    Descriptor<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using Convolution = Descriptor<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor,
                               cudnnDestroyConvolutionDescriptor>;

const char* describe(cudnnMathType_t math) {
  switch (math) {
    case CUDNN_DEFAULT_MATH:
      return " default math";
    case CUDNN_TENSOR_OP_MATH:
      return " tensor op math";
    case CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION:
      return " tensor op math with conversion";
    case CUDNN_FMA_MATH:
      return " fma math";
  }
  return "";
}

/// The descriptors and data of all passes.
struct Layer {
  Layer(const ConvolutionProblem& problem, const Target& target)
      : handle(cudnn_handle(target.stream)),
        x(tensor(problem.x)),
        y(tensor(problem.y)),
        x_data(problem.x.data),
        w_data(problem.w.data),
        y_data(problem.y.data) {
    expect_contiguous(problem.w);
    const auto& sizes = problem.w.sizes;
    check(cudnnSetFilter4dDescriptor(w, data_type(problem.w.element), CUDNN_TENSOR_NCHW,
                                     to_int(sizes[0]), to_int(sizes[1]), to_int(sizes[2]),
                                     to_int(sizes[3])));
    const auto& [stride, padding, dilation] =
        std::tie(problem.stride, problem.padding, problem.dilation);
    check(cudnnSetConvolution2dDescriptor(
        convolution, to_int(padding[0]), to_int(padding[1]), to_int(stride[0]), to_int(stride[1]),
        to_int(dilation[0]), to_int(dilation[1]), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    check(cudnnSetConvolutionGroupCount(convolution, to_int(problem.groups)));
    check(cudnnSetConvolutionMathType(convolution, math_type(problem.x.element, target.tf32)));
    if (!problem.bias) return;
    expect_contiguous(*problem.bias);
    bias = contiguous_tensor(problem.bias->element, {1, sizes[0], 1, 1});
    bias_data = problem.bias->data;
  }

  cudnnHandle_t handle;
  Tensor x, y, bias;
  Filter w;
  Convolution convolution;
  void *x_data, *w_data, *y_data;
  void* bias_data = nullptr;
};

template <typename Name>
struct Algorithm {
  Name name;
  cudnnMathType_t math;
  std::size_t workspace;
};

/// The fastest algorithm that cuDNN's `find` measured. With `fp32`, only those with fp32
/// multiply-adds count: `find` also measures other math types.
template <typename Timed, typename Find>
Algorithm<decltype(Timed::algo)> fastest(bool fp32, const Find& find) {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total));
  const std::size_t max_workspace = std::min(kMaxWorkspace, free / 2);
  const Memory scratch = allocate(max_workspace);
  std::array<Timed, kMaxAlgorithms> timed{};
  int count = 0;
  check(find(kMaxAlgorithms, &count, timed.data(), scratch.get(), max_workspace));
  const Timed* const end = timed.data() + count;
  const Timed* const found = std::find_if<const Timed*>(timed.data(), end, [&](const Timed& one) {
    return one.status == CUDNN_STATUS_SUCCESS && (!fp32 || one.mathType == CUDNN_FMA_MATH);
  });
  if (found == end) throw std::runtime_error("cuDNN has no algorithm for this convolution");
  return {found->algo, found->mathType, found->memory};
}

/// `run` takes the layer, the algorithm, and the memory and size of its workspace.
template <typename Timed, typename Find, typename Run>
Plan plan(const ConvolutionProblem& problem, const Target& target, const Layer& layer,
          const Find& find, const Run& run) {
  const bool fp32 = problem.x.element == Element::kFp32 && !target.tf32;
  Key key{static_cast<int64_t>(problem.writes), static_cast<int64_t>(target.tf32), problem.groups};
  for (const auto& pair : {problem.stride, problem.padding, problem.dilation})
    key.insert(key.end(), pair.begin(), pair.end());
  for (const Buffer* buffer : {&problem.x, &problem.w, &problem.y}) add(key, *buffer);
  const auto found = autotuned(key, [&] { return fastest<Timed>(fp32, find); });
  const auto algorithm = found.choice;
  check(cudnnSetConvolutionMathType(layer.convolution, algorithm.math));
  return {.implementation = "algo " + std::to_string(algorithm.name) + describe(algorithm.math),
          .run =
              [layer, algorithm, run, scratch = workspace(algorithm.workspace)] {
                run(layer, algorithm.name, scratch.get(), algorithm.workspace);
              },
          .workspace_bytes = algorithm.workspace,
          .search_us = found.us};
}

}  // namespace

Plan cudnn_plan(const ConvolutionProblem& problem, const Target& target) {
  const Layer one(problem, target);
  switch (problem.writes) {
    case ConvolutionProblem::Writes::kY: {
      Activation identity;
      check(cudnnSetActivationDescriptor(identity, CUDNN_ACTIVATION_IDENTITY,
                                         CUDNN_NOT_PROPAGATE_NAN, 0));
      return plan<cudnnConvolutionFwdAlgoPerf_t>(
          problem, target, one,
          [&](int requested, int* count, auto* timed, void* scratch, std::size_t bytes) {
            return cudnnFindConvolutionForwardAlgorithmEx(
                one.handle, one.x, one.x_data, one.w, one.w_data, one.convolution, one.y,
                one.y_data, requested, count, timed, scratch, bytes);
          },
          [identity](const Layer& l, auto algorithm, void* scratch, std::size_t bytes) {
            // Only with this algorithm cuDNN fuses a bias without an activation.
            if (l.bias_data != nullptr &&
                algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) {
              check(cudnnConvolutionBiasActivationForward(
                  l.handle, &kOne, l.x, l.x_data, l.w, l.w_data, l.convolution, algorithm, scratch,
                  bytes, &kZero, l.y, l.y_data, l.bias, l.bias_data, identity, l.y, l.y_data));
              return;
            }
            check(cudnnConvolutionForward(l.handle, &kOne, l.x, l.x_data, l.w, l.w_data,
                                          l.convolution, algorithm, scratch, bytes, &kZero, l.y,
                                          l.y_data));
            if (l.bias_data != nullptr)
              check(cudnnAddTensor(l.handle, &kOne, l.bias, l.bias_data, &kOne, l.y, l.y_data));
          });
    }
    case ConvolutionProblem::Writes::kX:
      return plan<cudnnConvolutionBwdDataAlgoPerf_t>(
          problem, target, one,
          [&](int requested, int* count, auto* timed, void* scratch, std::size_t bytes) {
            return cudnnFindConvolutionBackwardDataAlgorithmEx(
                one.handle, one.w, one.w_data, one.y, one.y_data, one.convolution, one.x,
                one.x_data, requested, count, timed, scratch, bytes);
          },
          [](const Layer& l, auto algorithm, void* scratch, std::size_t bytes) {
            check(cudnnConvolutionBackwardData(l.handle, &kOne, l.w, l.w_data, l.y, l.y_data,
                                               l.convolution, algorithm, scratch, bytes, &kZero,
                                               l.x, l.x_data));
          });
    case ConvolutionProblem::Writes::kW:
      return plan<cudnnConvolutionBwdFilterAlgoPerf_t>(
          problem, target, one,
          [&](int requested, int* count, auto* timed, void* scratch, std::size_t bytes) {
            return cudnnFindConvolutionBackwardFilterAlgorithmEx(
                one.handle, one.x, one.x_data, one.y, one.y_data, one.convolution, one.w,
                one.w_data, requested, count, timed, scratch, bytes);
          },
          [](const Layer& l, auto algorithm, void* scratch, std::size_t bytes) {
            check(cudnnConvolutionBackwardFilter(l.handle, &kOne, l.x, l.x_data, l.y, l.y_data,
                                                 l.convolution, algorithm, scratch, bytes, &kZero,
                                                 l.w, l.w_data));
            if (l.bias_data != nullptr)
              check(cudnnConvolutionBackwardBias(l.handle, &kOne, l.y, l.y_data, &kZero, l.bias,
                                                 l.bias_data));
          });
  }
  throw std::logic_error("unknown ConvolutionProblem::Writes");
}

}  // namespace fathom::ops::cuda
