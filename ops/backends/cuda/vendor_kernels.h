#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ops/core/problem.h"

namespace fathom::ops::cuda {

/// Where a plan runs.
struct Target {
  cudaStream_t stream;
  bool tf32;  ///< whether factors of fp32 products may be rounded to TF32
};

/// A way to solve a problem. The functions hold what they need.
struct Plan {
  std::string implementation;
  std::function<void()> run;  ///< only enqueues
  std::function<void()> write_outputs = nullptr;
  std::size_t workspace_bytes = 0;
  double search_us = 0;  ///< that went into choosing `run`
};

// One file a library's family of calls. They throw std::runtime_error.
Plan cublas_plan(const MatmulProblem& problem, const Target& target);
Plan cudnn_plan(const ConvolutionProblem& problem, const Target& target);
Plan cudnn_plan(const PoolProblem& problem, const Target& target);
Plan cudnn_plan(const ResponseNormProblem& problem, const Target& target);
Plan cudnn_plan(const BatchNormProblem& problem, const Target& target);
Plan cudnn_plan(const SoftmaxProblem& problem, const Target& target);
Plan cudnn_plan(const UnaryProblem& problem, const Target& target);
Plan cudnn_plan(const ReductionProblem& problem, const Target& target);
Plan cudnn_plan(const LstmProblem& problem, const Target& target);
Plan cudnn_plan(const CtcProblem& problem, const Target& target);

/// What a problem's choice of an algorithm depends on.
using Key = std::vector<int64_t>;

inline void add(Key& key, const Buffer& buffer) {
  key.push_back(static_cast<int64_t>(buffer.element));
  key.insert(key.end(), buffer.sizes.begin(), buffer.sizes.end());
  key.insert(key.end(), buffer.strides.begin(), buffer.strides.end());
}

template <typename Choice>
struct Searched {
  Choice choice;
  double us;
};

/// Searches for each key once in a process, so that copies of a problem run the same.
template <typename Search>
auto searched(const Key& key, const Search& search) {
  using Clock = std::chrono::steady_clock;
  static std::map<Key, Searched<decltype(search())>> all;
  if (const auto found = all.find(key); found != all.end()) return found->second;
  const auto begin = Clock::now();
  auto choice = search();
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  return all.insert({key, {std::move(choice), us}}).first->second;
}

}  // namespace fathom::ops::cuda
