#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/options/options.h"
#include "ops/core/pass.h"
#include "ops/profiler/shape_profile.h"

namespace fathom::benchmarks {

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
  int64_t count;                          ///< calls a step
  std::string key;                        ///< ops::ShapeRow::key()
  ops::Backend in_steps;                  ///< whose code the workload runs
  std::map<ops::Backend, double> hot_us;  ///< a call alone, data in the caches
  std::optional<double> cold_us = {};     ///< a call of in_steps alone, data in memory
  std::optional<PeakShare> peak = {};     ///< of in_steps, hot

  std::optional<double> hot() const;   ///< microseconds a step of in_steps
  std::optional<double> cold() const;  ///< likewise
  std::optional<double> best() const;  ///< likewise of the fastest backend
  /// The fastest of the other backends.
  std::optional<ops::Backend> other() const;
  std::optional<double> other_us() const;  ///< a step of it
};

/// Ops whose time in the step is one: what a call of LibTorch's makes together.
struct ExplainedLine {
  std::vector<ExplainedOp> ops;
  std::optional<double> in_step_us = {};  ///< absent where the step was not seen to run them

  std::optional<double> hot() const;
  std::optional<double> cold() const;
  std::optional<double> best() const;
  std::optional<double> other_us() const;
  /// In percent above the best time alone.
  std::optional<double> tax() const;
  std::optional<PeakShare> peak() const;
};

/// Time of the step that no line has.
struct Unclaimed {
  std::string type;
  ops::OpClass op_class;
  double us;
};

/// What a watched step took in microseconds. The lines' times and `unclaimed` add up to step_us.
struct WatchedStep {
  double step_us;
  std::vector<Unclaimed> unclaimed;  ///< longest first

  double between_us() const;  ///< the class framework: between ops, and looking at tensors anew
  double without_rows_us() const;
};

/// Where the time of a step goes.
struct Explanation {
  Setting setting;
  std::optional<double> step_us;     ///< the timed median
  std::vector<ExplainedLine> lines;  ///< the longest in the step first
  std::optional<WatchedStep> watched;

  // Sums over the lines in microseconds a step; absent where a part is.
  std::optional<double> in_step() const;
  std::optional<double> hot() const;
  std::optional<double> cold() const;  ///< hot where an op is too small to run from memory
  std::optional<double> best() const;
};

/// Joins what was measured; `watched` is null where the step was not watched.
Explanation explain(const Setting& setting, std::optional<double> step_us,
                    std::vector<ExplainedOp> ops, const ops::ShapeProfile* watched);

}  // namespace fathom::benchmarks
