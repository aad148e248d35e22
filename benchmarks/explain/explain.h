#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/machine/disturbances.h"
#include "benchmarks/options/options.h"
#include "benchmarks/tasks/step_choice.h"
#include "ops/core/pass.h"
#include "ops/profiler/shape_profile.h"

namespace fathom::benchmarks {

/// Whether `a` is the better of two measurements of the same work: others took less of it; where
/// neither is disturbed, or that is not known, it is the shorter one.
bool is_better(const Timing& a, const Timing& b);

/// Whether an op's time, run separately with its data in the caches, contradicts its time in the
/// step, where `calls` calls found less of their data there: 1.5 times as long, and 10 us a call
/// longer. Less may be the dispatch of a call, which the time in the step does not include.
bool hot_contradicts_step(double hot_us, double in_step_us, int64_t calls);

/// Whether a timed and a profiled step contradict each other. Profiling only lengthens a step: the
/// timed one is at most 1.25 times as long, for noise. The profiled one is at most 1.5 times as
/// long and 3 us for each of its `calls` calls, which is what the profiler costs.
bool profile_contradicts_step(double timed_us, double profiled_us, int64_t calls);

/// Whether a timed step and the time in which it keeps a GPU busy contradict each other: the busy
/// time is more than 1.25 times as long.
bool gpu_contradicts_step(double timed_us, double busy_us);

/// Where and how a step and its ops ran.
struct Setting {
  StepName step;
  fixtures::Device device;
  int threads;
  fixtures::Precision precision;
};

/// A share of the machine's peak that an op reaches.
struct PeakShare {
  std::string_view of;  ///< "flops" or "bytes"
  double percent;
};

/// An op of a step at one shape. What could not be measured is absent.
struct ExplainedOp {
  std::string type;
  std::string layer;
  ops::Pass pass;
  int64_t count;         ///< calls a step
  std::string key;       ///< ops::ShapeRow::key()
  std::string in_steps;  ///< the backend that the workload runs
  // A call run separately, by backend.
  std::map<std::string, double> hot_us;        ///< data in the caches
  std::map<std::string, double> cold_us = {};  ///< data in memory
  std::optional<PeakShare> peak = {};          ///< of in_steps, hot
  // What others took of a call of in_steps, hot and cold.
  std::optional<double> hot_taken_us = {};
  std::optional<double> cold_taken_us = {};
  std::string row = {};  ///< the name of the row of hot_us.at(in_steps)

  // A call of in_steps; absent where it was not measured.
  std::optional<Timing> hot_call() const;
  std::optional<Timing> cold_call() const;

  // Microseconds of `count` calls.
  std::optional<double> hot() const;         ///< on in_steps
  std::optional<double> cold() const;        ///< on in_steps
  double least_hot() const;                  ///< hot() less what others may have taken
  std::optional<double> best() const;        ///< on the fastest backend, hot
  std::optional<double> best_cold() const;   ///< on the fastest backend, cold
  std::optional<std::string> other() const;  ///< the fastest of the other backends, hot
  std::optional<double> other_us() const;    ///< on other()
};

/// The ops that one LibTorch call computes, such as a convolution's two gradients: the step has one
/// time for them.
struct ExplainedLine {
  std::vector<ExplainedOp> ops;
  std::optional<double> in_step_us = {};  ///< absent where the profiled step does not run them
  bool on_gpu = false;                    ///< in_step_us is the time of the GPU only

  /// Whether hot() contradicts in_step_us. Never on a GPU: the host may take longer to launch an op
  /// than the GPU to run it.
  bool contradicts() const;
  std::optional<double> hot() const;
  std::optional<double> cold() const;
  std::optional<double> best() const;
  std::optional<double> least_cold() const;  ///< cold() less what others may have taken
  std::optional<double> other_us() const;
  /// Percent that in_step_us is above best().
  std::optional<double> tax() const;
  std::optional<PeakShare> peak() const;
};

/// Time of the step that belongs to no line.
struct Unclaimed {
  std::string type;
  ops::OpClass op_class;
  double us;
};

/// The times of a profiled step in microseconds. The lines' times and `unclaimed` sum to step_us.
struct ProfiledStep {
  double step_us;                    ///< on a GPU: the time in which the step keeps it busy
  std::vector<Unclaimed> unclaimed;  ///< longest first
  int64_t calls = 0;
  std::optional<double> taken_us = {};  ///< what others took of a step

  double between_us() const;       ///< the class framework: between ops, views and reshapes; on a
                                   ///< GPU what no op launched
  double without_rows_us() const;  ///< ops without rows
};

/// The same step on other kernels.
struct OtherStep {
  std::string backend;
  Timing time;
  std::string label;                                   ///< of its row
  std::shared_ptr<const StepChoice> choice = nullptr;  ///< of the kernels

  /// Microseconds a step that the calls of a chosen kernel save against LibTorch's.
  static double saving_us(const ops::ChosenKernel& kernel);
};

/// An operator of LibTorch that the step calls.
struct CalledOperator {
  std::string name;  ///< as it is registered: "mm", "add.Tensor"
  double calls;      ///< a step
  double us;         ///< a step, without the operators that it calls
};

/// How the time of a step is spent.
struct Explanation {
  Setting setting;
  std::optional<double> step_us;     ///< the timed median
  std::vector<ExplainedLine> lines;  ///< the longest in the step first
  std::optional<ProfiledStep> profiled;
  std::optional<double> step_taken_us = {};      ///< what others took of a timed step
  std::string row = {};                          ///< the name of the step's row
  std::vector<OtherStep> others = {};            ///< those that ran
  std::vector<std::string> measured_again = {};  ///< rows that were measured more than once
  std::vector<CalledOperator> operators = {};    ///< the longest first

  bool on_gpu() const { return setting.device == fixtures::Device::kCuda; }
  /// Whether the timed and the profiled step contradict each other.
  bool contradicts() const;
  /// The host's share of a timed step on a GPU: the time in which the GPU is idle. Absent on the
  /// CPU.
  std::optional<double> host_us() const;

  // Sums over the lines in microseconds a step; absent where a part is.
  std::optional<double> in_step() const;
  std::optional<double> hot() const;
  std::optional<double> cold() const;  ///< hot where an op is too small to run from memory
  std::optional<double> best() const;
  std::optional<double> best_cold() const;  ///< hot where an op is too small to run from memory
};

/// Joins what was measured; `profiled` is null where the step was not profiled.
Explanation explain(const Setting& setting, std::optional<double> step_us,
                    std::vector<ExplainedOp> ops, const ops::ShapeProfile* profiled);

}  // namespace fathom::benchmarks
