#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "ops/backends/cuda/cudnn_convolution_arguments.h"
#include "ops/backends/cuda/fastest.h"
#include "ops/cuda/cached_memory.h"

namespace fathom::ops::cuda {
namespace {

constexpr std::size_t kMaxWorkspace = std::size_t{1} << 30;
constexpr int kMaxAlgorithms = 32;      // cuDNN lists an algorithm once per math type
constexpr std::size_t kCandidates = 3;  // cuDNN's fastest in a layout, which are timed again
constexpr std::array kLayouts{CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NHWC};

using Arguments = ConvolutionArguments;

// cuDNN's names of enumerators, by value, without "CUDNN_" and "CUDNN_CONVOLUTION_".
constexpr std::array kMathTypes{"DEFAULT_MATH", "TENSOR_OP_MATH", "TENSOR_OP_MATH_ALLOW_CONVERSION",
                                "FMA_MATH"};
constexpr std::array kForwardNames{"FWD_ALGO_IMPLICIT_GEMM", "FWD_ALGO_IMPLICIT_PRECOMP_GEMM",
                                   "FWD_ALGO_GEMM",          "FWD_ALGO_DIRECT",
                                   "FWD_ALGO_FFT",           "FWD_ALGO_FFT_TILING",
                                   "FWD_ALGO_WINOGRAD",      "FWD_ALGO_WINOGRAD_NONFUSED"};
constexpr std::array kDataNames{"BWD_DATA_ALGO_0",        "BWD_DATA_ALGO_1",
                                "BWD_DATA_ALGO_FFT",      "BWD_DATA_ALGO_FFT_TILING",
                                "BWD_DATA_ALGO_WINOGRAD", "BWD_DATA_ALGO_WINOGRAD_NONFUSED"};
constexpr std::array kFilterNames{"BWD_FILTER_ALGO_0",         "BWD_FILTER_ALGO_1",
                                  "BWD_FILTER_ALGO_FFT",       "BWD_FILTER_ALGO_3",
                                  "BWD_FILTER_ALGO_WINOGRAD",  "BWD_FILTER_ALGO_WINOGRAD_NONFUSED",
                                  "BWD_FILTER_ALGO_FFT_TILING"};
static_assert(kMathTypes.size() == CUDNN_FMA_MATH + 1);
static_assert(kForwardNames.size() == CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
static_assert(kDataNames.size() == CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT);
static_assert(kFilterNames.size() == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT);

template <typename Name>
struct Algorithm {
  Name name;
  cudnnMathType_t math;
  cudnnTensorFormat_t layout;
  bool fused;  ///< with the bias in one kernel
  std::size_t workspace;
};

// A direction: cuDNN's search, the size of an algorithm's workspace, its run, and what it writes.

struct Forward {
  using Timed = cudnnConvolutionFwdAlgoPerf_t;
  using Name = cudnnConvolutionFwdAlgo_t;
  static constexpr const auto& kNames = kForwardNames;

  static cudnnStatus_t find(const Arguments& a, int* count, Timed* timed, void* scratch,
                            std::size_t bytes) {
    return cudnnFindConvolutionForwardAlgorithmEx(a.handle, a.x_desc, a.x.data(), a.w_desc,
                                                  a.w.data(), a.convolution, a.y_desc, a.y.data(),
                                                  kMaxAlgorithms, count, timed, scratch, bytes);
  }
  static cudnnStatus_t workspace(const Arguments& a, Name name, std::size_t* bytes) {
    return cudnnGetConvolutionForwardWorkspaceSize(a.handle, a.x_desc, a.w_desc, a.convolution,
                                                   a.y_desc, name, bytes);
  }
  /// Only with this algorithm cuDNN fuses a bias without an activation.
  static bool fuses(const Arguments& a, Name name) {
    return a.bias != nullptr && name == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  }
  static void run(const Arguments& a, const Algorithm<Name>& by, void* scratch) {
    if (by.fused) {
      check(cudnnConvolutionBiasActivationForward(
          a.handle, &kOne, a.x_desc, a.x.data(), a.w_desc, a.w.data(), a.convolution, by.name,
          scratch, by.workspace, &kZero, a.y_desc, a.y.data(), a.bias_desc, a.bias, a.identity,
          a.y_desc, a.y.data()));
      return;
    }
    check(cudnnConvolutionForward(a.handle, &kOne, a.x_desc, a.x.data(), a.w_desc, a.w.data(),
                                  a.convolution, by.name, scratch, by.workspace, &kZero, a.y_desc,
                                  a.y.data()));
    if (a.bias != nullptr)
      check(cudnnAddTensor(a.handle, &kOne, a.bias_desc, a.bias, &kOne, a.y_desc, a.y.data()));
  }
  static const Image& output(const Arguments& a) { return a.y; }
};

struct BackwardData {
  using Timed = cudnnConvolutionBwdDataAlgoPerf_t;
  using Name = cudnnConvolutionBwdDataAlgo_t;
  static constexpr const auto& kNames = kDataNames;

  static cudnnStatus_t find(const Arguments& a, int* count, Timed* timed, void* scratch,
                            std::size_t bytes) {
    return cudnnFindConvolutionBackwardDataAlgorithmEx(
        a.handle, a.w_desc, a.w.data(), a.y_desc, a.y.data(), a.convolution, a.x_desc, a.x.data(),
        kMaxAlgorithms, count, timed, scratch, bytes);
  }
  static cudnnStatus_t workspace(const Arguments& a, Name name, std::size_t* bytes) {
    return cudnnGetConvolutionBackwardDataWorkspaceSize(a.handle, a.w_desc, a.y_desc, a.convolution,
                                                        a.x_desc, name, bytes);
  }
  static void run(const Arguments& a, const Algorithm<Name>& by, void* scratch) {
    check(cudnnConvolutionBackwardData(a.handle, &kOne, a.w_desc, a.w.data(), a.y_desc, a.y.data(),
                                       a.convolution, by.name, scratch, by.workspace, &kZero,
                                       a.x_desc, a.x.data()));
  }
  static const Image& output(const Arguments& a) { return a.x; }
};

struct BackwardFilter {
  using Timed = cudnnConvolutionBwdFilterAlgoPerf_t;
  using Name = cudnnConvolutionBwdFilterAlgo_t;
  static constexpr const auto& kNames = kFilterNames;

  static cudnnStatus_t find(const Arguments& a, int* count, Timed* timed, void* scratch,
                            std::size_t bytes) {
    return cudnnFindConvolutionBackwardFilterAlgorithmEx(
        a.handle, a.x_desc, a.x.data(), a.y_desc, a.y.data(), a.convolution, a.w_desc, a.w.data(),
        kMaxAlgorithms, count, timed, scratch, bytes);
  }
  static cudnnStatus_t workspace(const Arguments& a, Name name, std::size_t* bytes) {
    return cudnnGetConvolutionBackwardFilterWorkspaceSize(a.handle, a.x_desc, a.y_desc,
                                                          a.convolution, a.w_desc, name, bytes);
  }
  static void run(const Arguments& a, const Algorithm<Name>& by, void* scratch) {
    check(cudnnConvolutionBackwardFilter(a.handle, &kOne, a.x_desc, a.x.data(), a.y_desc,
                                         a.y.data(), a.convolution, by.name, scratch, by.workspace,
                                         &kZero, a.w_desc, a.w.data()));
    if (a.bias != nullptr)
      check(cudnnConvolutionBackwardBias(a.handle, &kOne, a.y_desc, a.y.data(), &kZero, a.bias_desc,
                                         a.bias));
  }
  static const Image& output(const Arguments& a) { return a.w; }
};

/// Whether the direction's `algorithm` can add the bias in its own kernel.
template <typename Direction>
bool fuses(const Arguments& arguments, typename Direction::Name algorithm) {
  if constexpr (requires { Direction::fuses(arguments, algorithm); }) {
    return Direction::fuses(arguments, algorithm);
  }
  return false;
}

/// A search among the algorithms of both layouts. cuDNN's own search ranks those of one layout; the
/// first ones are timed with their bias.
template <typename Direction>
class Search {
 public:
  using Choice = Algorithm<typename Direction::Name>;

  Search(const ConvolutionProblem& problem, const Target& target)
      : stream_(target.stream), fp32_(problem.x.element == Element::kFp32 && !target.tf32) {
    release_cached_memory();
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total));
    scratch_bytes_ = std::min(kMaxWorkspace, free / 4);
    scratch_ = allocate(scratch_bytes_);
    for (const auto layout : kLayouts) {
      fastest_.attempt([&] { search(Arguments(problem, target, layout)); });
    }
  }

  const Choice& fastest() const {
    return fastest_.found("cuDNN has no algorithm for this convolution");
  }

 private:
  void search(const Arguments& arguments) {
    std::array<typename Direction::Timed, kMaxAlgorithms> timed{};
    int count = 0;
    check(Direction::find(arguments, &count, timed.data(), scratch_.get(), scratch_bytes_));
    std::set<std::pair<typename Direction::Name, cudnnMathType_t>> tried;
    for (int i = 0; i < count && tried.size() < kCandidates; ++i) {
      const auto& one = timed[static_cast<std::size_t>(i)];
      // cuDNN also ranks TF32 where FMA is asked for. The algorithm may have a kernel of both.
      const cudnnMathType_t math = fp32_ ? CUDNN_FMA_MATH : one.mathType;
      fastest_.attempt([&] { check(one.status); });
      if (one.status != CUDNN_STATUS_SUCCESS || !tried.emplace(one.algo, math).second) continue;
      for (const bool fused : {false, true}) {
        if (fused && !fuses<Direction>(arguments, one.algo)) continue;
        fastest_.attempt([&] { time(arguments, {one.algo, math, arguments.layout, fused, 0}); });
      }
    }
  }

  void time(const Arguments& arguments, Choice choice) {
    check(cudnnSetConvolutionMathType(arguments.convolution, choice.math));
    check(Direction::workspace(arguments, choice.name, &choice.workspace));
    if (choice.workspace > scratch_bytes_) {
      throw OutOfMemory("cuDNN needs " + std::to_string(choice.workspace) +
                        " bytes of workspace for this convolution, at most " +
                        std::to_string(scratch_bytes_) + " bytes are given");
    }
    fastest_.offer(choice, best_milliseconds(stream_, [&] {
                     Direction::run(arguments, choice, scratch_.get());
                   }));
  }

  cudaStream_t stream_;
  bool fp32_;
  std::size_t scratch_bytes_ = 0;
  Memory scratch_;
  Fastest<Choice> fastest_;
};

/// "FWD_ALGO_IMPLICIT_PRECOMP_GEMM FMA_MATH NHWC with bias".
template <typename Direction>
std::string described(const Algorithm<typename Direction::Name>& algorithm) {
  std::string text = Direction::kNames.at(static_cast<std::size_t>(algorithm.name));
  text.append(" ").append(kMathTypes.at(static_cast<std::size_t>(algorithm.math)));
  text += algorithm.layout == CUDNN_TENSOR_NHWC ? " NHWC" : " NCHW";
  return algorithm.fused ? text + " with bias" : text;
}

template <typename Direction>
Plan plan(const ConvolutionProblem& problem, const Target& target) {
  Key key{static_cast<int64_t>(problem.writes), static_cast<int64_t>(target.tf32), problem.groups,
          static_cast<int64_t>(problem.bias.has_value())};
  for (const auto& pair : {problem.stride, problem.padding, problem.dilation})
    key.insert(key.end(), pair.begin(), pair.end());
  for (const Buffer* buffer : {&problem.x, &problem.w, &problem.y}) add(key, *buffer);
  const auto found = autotuned(key, [&] { return Search<Direction>(problem, target).fastest(); });
  const auto algorithm = found.choice;
  const Arguments arguments(problem, target, algorithm.layout);
  check(cudnnSetConvolutionMathType(arguments.convolution, algorithm.math));
  const auto run = [arguments, algorithm, scratch = workspace(algorithm.workspace)] {
    Direction::run(arguments, algorithm, scratch.get());
  };
  const auto write_outputs = [arguments, stream = target.stream] {
    Direction::output(arguments).write_back(stream);
  };
  return {.implementation = described<Direction>(algorithm),
          .run = run,
          .write_outputs = write_outputs,
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
