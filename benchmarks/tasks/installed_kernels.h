#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "benchmarks/machine/disturbances.h"
#include "benchmarks/tasks/step_choice.h"
#include "models/step.h"
#include "ops/backends/operators/kernel_set.h"

namespace fathom::benchmarks {

/// What is known of a step before it is timed, above all where its kernels replace LibTorch's.
struct InstalledKernels {
  std::shared_ptr<const StepChoice> choice = {};  ///< of kernels that choose; else null
  /// FLOPs of a step on LibTorch's kernels, which are counted by its operators.
  std::optional<double> flops = {};
  std::optional<double> distance = {};  ///< distance_to_fp32() in another precision
};

/// Microseconds of a step, the faster of two timings, or of one if a step takes a second. While the
/// last one was disturbed, further timings follow, at most three in all.
double fastest_us(const std::function<Timing()>& time_step);

/// Installs the kernels for the rest of the process. If they are chosen by timing, so is the
/// layout; with `cuda_graph`, the choice says whether the step can be captured as a CUDA graph.
/// `recorded` is an earlier choice to repeat; null: none. Throws std::runtime_error where results
/// of the step differ from those on LibTorch's kernels.
InstalledKernels install(ops::KernelSet& kernels, const models::WorkloadRow& row,
                         const models::StepOptions& options, bool cuda_graph,
                         const StepChoice* recorded);

/// How far the first step's output or loss is from that of the same step in fp32: the root mean
/// square of the difference, relative to that of fp32's.
double distance_to_fp32(const models::WorkloadRow& row, const models::StepOptions& options);

/// FLOPs of a step of `expected` on LibTorch's kernels. Throws std::runtime_error where the results
/// of `row`, the same network, differ.
double compare_steps(const models::WorkloadRow& expected, const models::WorkloadRow& row,
                     const models::StepOptions& options);

}  // namespace fathom::benchmarks
