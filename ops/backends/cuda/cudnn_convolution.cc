#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "ops/backends/cuda/cudnn_layer.h"
#include "ops/kernels/cuda/cached_memory.h"

namespace fathom::ops::cuda {
namespace {

constexpr std::size_t kMaxWorkspace = std::size_t{1} << 30;
constexpr int kMaxAlgorithms = 32;      // cuDNN lists an algorithm once per math type
constexpr std::size_t kCandidates = 3;  // cuDNN's fastest in a layout, which are timed again
constexpr std::array kLayouts{CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC};

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

template <typename Name>
struct Algorithm {
  Name name;
  cudnnMathType_t math;
  cudnnTensorFormat_t layout;
  bool fused;  ///< with the bias in one kernel
  std::size_t workspace;
};

// A pass: cuDNN's search, the size of an algorithm's workspace, its run, and what it writes.

struct Forward {
  using Timed = cudnnConvolutionFwdAlgoPerf_t;
  using Name = cudnnConvolutionFwdAlgo_t;

  static cudnnStatus_t find(const Layer& l, int* count, Timed* timed, void* scratch,
                            std::size_t bytes) {
    return cudnnFindConvolutionForwardAlgorithmEx(l.handle, l.x_desc, l.x.data(), l.w_desc,
                                                  l.w.data(), l.convolution, l.y_desc, l.y.data(),
                                                  kMaxAlgorithms, count, timed, scratch, bytes);
  }
  static cudnnStatus_t workspace(const Layer& l, Name name, std::size_t* bytes) {
    return cudnnGetConvolutionForwardWorkspaceSize(l.handle, l.x_desc, l.w_desc, l.convolution,
                                                   l.y_desc, name, bytes);
  }
  /// Only with this algorithm cuDNN fuses a bias without an activation.
  static bool fuses(const Layer& l, Name name) {
    return l.bias != nullptr && name == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  }
  static void run(const Layer& l, const Algorithm<Name>& by, void* scratch) {
    if (by.fused) {
      check(cudnnConvolutionBiasActivationForward(
          l.handle, &kOne, l.x_desc, l.x.data(), l.w_desc, l.w.data(), l.convolution, by.name,
          scratch, by.workspace, &kZero, l.y_desc, l.y.data(), l.bias_desc, l.bias, l.identity,
          l.y_desc, l.y.data()));
      return;
    }
    check(cudnnConvolutionForward(l.handle, &kOne, l.x_desc, l.x.data(), l.w_desc, l.w.data(),
                                  l.convolution, by.name, scratch, by.workspace, &kZero, l.y_desc,
                                  l.y.data()));
    if (l.bias != nullptr)
      check(cudnnAddTensor(l.handle, &kOne, l.bias_desc, l.bias, &kOne, l.y_desc, l.y.data()));
  }
  static const Image& output(const Layer& l) { return l.y; }
};

struct BackwardData {
  using Timed = cudnnConvolutionBwdDataAlgoPerf_t;
  using Name = cudnnConvolutionBwdDataAlgo_t;

  static cudnnStatus_t find(const Layer& l, int* count, Timed* timed, void* scratch,
                            std::size_t bytes) {
    return cudnnFindConvolutionBackwardDataAlgorithmEx(
        l.handle, l.w_desc, l.w.data(), l.y_desc, l.y.data(), l.convolution, l.x_desc, l.x.data(),
        kMaxAlgorithms, count, timed, scratch, bytes);
  }
  static cudnnStatus_t workspace(const Layer& l, Name name, std::size_t* bytes) {
    return cudnnGetConvolutionBackwardDataWorkspaceSize(l.handle, l.w_desc, l.y_desc, l.convolution,
                                                        l.x_desc, name, bytes);
  }
  static bool fuses(const Layer& /*layer*/, Name /*name*/) { return false; }
  static void run(const Layer& l, const Algorithm<Name>& by, void* scratch) {
    check(cudnnConvolutionBackwardData(l.handle, &kOne, l.w_desc, l.w.data(), l.y_desc, l.y.data(),
                                       l.convolution, by.name, scratch, by.workspace, &kZero,
                                       l.x_desc, l.x.data()));
  }
  static const Image& output(const Layer& l) { return l.x; }
};

struct BackwardFilter {
  using Timed = cudnnConvolutionBwdFilterAlgoPerf_t;
  using Name = cudnnConvolutionBwdFilterAlgo_t;

  static cudnnStatus_t find(const Layer& l, int* count, Timed* timed, void* scratch,
                            std::size_t bytes) {
    return cudnnFindConvolutionBackwardFilterAlgorithmEx(
        l.handle, l.x_desc, l.x.data(), l.y_desc, l.y.data(), l.convolution, l.w_desc, l.w.data(),
        kMaxAlgorithms, count, timed, scratch, bytes);
  }
  static cudnnStatus_t workspace(const Layer& l, Name name, std::size_t* bytes) {
    return cudnnGetConvolutionBackwardFilterWorkspaceSize(l.handle, l.x_desc, l.y_desc,
                                                          l.convolution, l.w_desc, name, bytes);
  }
  static bool fuses(const Layer& /*layer*/, Name /*name*/) { return false; }
  static void run(const Layer& l, const Algorithm<Name>& by, void* scratch) {
    check(cudnnConvolutionBackwardFilter(l.handle, &kOne, l.x_desc, l.x.data(), l.y_desc,
                                         l.y.data(), l.convolution, by.name, scratch, by.workspace,
                                         &kZero, l.w_desc, l.w.data()));
    if (l.bias != nullptr)
      check(cudnnConvolutionBackwardBias(l.handle, &kOne, l.y_desc, l.y.data(), &kZero, l.bias_desc,
                                         l.bias));
  }
  static const Image& output(const Layer& l) { return l.w; }
};

/// A search among the algorithms of both layouts. cuDNN's own search ranks those of one layout; the
/// first ones are timed with their bias.
template <typename Pass>
class Search {
 public:
  using Choice = Algorithm<typename Pass::Name>;

  Search(const ConvolutionProblem& problem, const Target& target)
      : target_(target), fp32_(problem.x.element == Element::kFp32 && !target.tf32) {
    release_cached_memory();
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total));
    scratch_bytes_ = std::min(kMaxWorkspace, free / 4);
    scratch_ = allocate(scratch_bytes_);
    for (const auto layout : kLayouts) {
      trying([&] { search(Layer(problem, target, layout), layout); });
    }
    if (best_ == kNone) throw std::runtime_error(why_);
  }

  const Choice& fastest() const { return fastest_; }

 private:
  static constexpr float kNone = std::numeric_limits<float>::infinity();

  /// Not every layout and algorithm runs every problem.
  template <typename Try>
  void trying(const Try& run) {
    try {
      run();
    } catch (const std::runtime_error& error) {
      why_ = error.what();
    }
  }

  void search(const Layer& layer, cudnnTensorFormat_t layout) {
    std::array<typename Pass::Timed, kMaxAlgorithms> timed{};
    int count = 0;
    check(Pass::find(layer, &count, timed.data(), scratch_.get(), scratch_bytes_));
    std::set<std::pair<typename Pass::Name, cudnnMathType_t>> tried;
    for (int i = 0; i < count && tried.size() < kCandidates; ++i) {
      const auto& one = timed[static_cast<std::size_t>(i)];
      // cuDNN also ranks TF32 where FMA is asked for. The algorithm may have a kernel of both.
      const cudnnMathType_t math = fp32_ ? CUDNN_FMA_MATH : one.mathType;
      if (one.status != CUDNN_STATUS_SUCCESS || !tried.emplace(one.algo, math).second) continue;
      for (const bool fused : {false, true}) {
        if (fused && !Pass::fuses(layer, one.algo)) continue;
        trying([&] { time(layer, {one.algo, math, layout, fused, 0}); });
      }
    }
  }

  void time(const Layer& layer, Choice choice) {
    check(cudnnSetConvolutionMathType(layer.convolution, choice.math));
    check(Pass::workspace(layer, choice.name, &choice.workspace));
    if (choice.workspace > scratch_bytes_) return;
    const float milliseconds =
        best_milliseconds(target_.stream, [&] { Pass::run(layer, choice, scratch_.get()); });
    if (milliseconds >= best_) return;
    best_ = milliseconds;
    fastest_ = choice;
  }

  Target target_;
  bool fp32_;
  std::size_t scratch_bytes_ = 0;
  Memory scratch_;
  float best_ = kNone;
  Choice fastest_{};
  std::string why_ = "cuDNN has no algorithm for this convolution";
};

template <typename Pass>
Plan plan(const ConvolutionProblem& problem, const Target& target) {
  Key key{static_cast<int64_t>(problem.writes), static_cast<int64_t>(target.tf32), problem.groups,
          static_cast<int64_t>(problem.bias.has_value())};
  for (const auto& pair : {problem.stride, problem.padding, problem.dilation})
    key.insert(key.end(), pair.begin(), pair.end());
  for (const Buffer* buffer : {&problem.x, &problem.w, &problem.y}) add(key, *buffer);
  const auto found = autotuned(key, [&] { return Search<Pass>(problem, target).fastest(); });
  const auto algorithm = found.choice;
  const Layer layer(problem, target, algorithm.layout);
  check(cudnnSetConvolutionMathType(layer.convolution, algorithm.math));
  return {
      .implementation = "algo " + std::to_string(algorithm.name) + describe(algorithm.math) +
                        (algorithm.layout == CUDNN_TENSOR_NHWC ? " NHWC" : " NCHW") +
                        (algorithm.fused ? " with bias" : ""),
      .run = [layer, algorithm,
              scratch =
                  workspace(algorithm.workspace)] { Pass::run(layer, algorithm, scratch.get()); },
      .write_outputs = [layer, stream = target.stream] { Pass::output(layer).write_back(stream); },
      .workspace_bytes = algorithm.workspace,
      .search_us = found.us};
}

}  // namespace

Plan cudnn_plan(const ConvolutionProblem& problem, const Target& target) {
  switch (problem.writes) {
    case ConvolutionProblem::Writes::kY:
      return plan<Forward>(problem, target);
    case ConvolutionProblem::Writes::kX:
      return plan<BackwardData>(problem, target);
    case ConvolutionProblem::Writes::kW:
      return plan<BackwardFilter>(problem, target);
  }
  throw std::logic_error("unknown ConvolutionProblem::Writes");
}

}  // namespace fathom::ops::cuda
