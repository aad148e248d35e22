#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ops/core/problem.h"

namespace fathom::ops {

class Kernel;
struct VendorCall;

/// CudaLibrary::make_vendor_kernel.
std::unique_ptr<Kernel> make_vendor_kernel(const VendorCall& call);

}  // namespace fathom::ops

namespace fathom::ops::cuda {

/// The stream and precision of a plan.
struct Target {
  cudaStream_t stream;
  bool tf32;  ///< whether fp32 products may use TF32
};

/// A prepared solution of a problem. Its functions own the data that they need.
struct Plan {
  std::string implementation;
  std::function<void()> run;  ///< enqueues on the stream and does not wait
  std::function<void()> write_outputs = nullptr;
  std::size_t workspace_bytes = 0;
  double search_us = 0;  ///< time spent on the choice of an algorithm
};

// One file per family of calls. They throw NotSupported, or std::runtime_error for other errors.
Plan cublas_plan(const MatmulProblem& problem, const Target& target);
Plan cublas_plan(const QuantizedMatmulProblem& problem, const Target& target);
Plan cudnn_plan(const ConvolutionProblem& problem, const Target& target);
Plan cudnn_plan(const PoolProblem& problem, const Target& target);
Plan cudnn_plan(const ResponseNormProblem& problem, const Target& target);
Plan cudnn_plan(const BatchNormProblem& problem, const Target& target);
Plan cudnn_plan(const SoftmaxProblem& problem, const Target& target);
Plan cudnn_plan(const UnaryProblem& problem, const Target& target);
Plan cudnn_plan(const ReductionProblem& problem, const Target& target);
Plan cudnn_plan(const LstmProblem& problem, const Target& target);
Plan cudnn_plan(const GruProblem& problem, const Target& target);
Plan cudnn_plan(const CtcProblem& problem, const Target& target);

/// Identifies problems that share a choice of algorithm.
using Key = std::vector<int64_t>;

inline void add(Key& key, const Buffer& buffer) {
  key.push_back(static_cast<int64_t>(buffer.element));
  key.insert(key.end(), buffer.sizes.begin(), buffer.sizes.end());
  key.insert(key.end(), buffer.strides.begin(), buffer.strides.end());
}

template <typename Choice>
struct Autotuned {
  Choice choice;
  double us;
};

/// Runs `search` once per key in a process, so that copies of a problem run the same algorithm.
template <typename Search>
auto autotuned(const Key& key, const Search& search) {
  using Clock = std::chrono::steady_clock;
  static std::map<Key, Autotuned<decltype(search())>> all;
  if (const auto found = all.find(key); found != all.end()) return found->second;
  const auto begin = Clock::now();
  auto choice = search();
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  return all.insert({key, {std::move(choice), us}}).first->second;
}

}  // namespace fathom::ops::cuda
