#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fathom::benchmarks {

struct StepChoice;

using Counters =
    std::vector<std::pair<std::string, double>>;  ///< pairs of a name in the JSON and a value

/// Counts for one step. An unknown count has no value.
struct StepCounts {
  std::optional<double> items;
  std::optional<double> flops;
  std::optional<double> bytes;    ///< lower bound of what is read and written
  double working_set = 0;         ///< bytes of memory that a step touches
  Counters rates;                 ///< other amounts of a step, by the names of their rates
  std::string milliseconds = {};  ///< name of a counter of a step's milliseconds; empty: none
  Counters counters;              ///< others
  std::string label;
};

/// The work of a benchmark row: built once, then run any number of times.
class Task {
 public:
  virtual ~Task() = default;
  /// Called before `steps` calls of run() or warm_up_step() that follow each other. A task of
  /// several ranks starts these steps on the other ranks.
  virtual void begin_steps(int64_t /*steps*/) {}
  /// Runs one step. May return before the device has finished.
  virtual void run() = 0;
  /// Runs a warm-up step, in which a task may also count its FLOPs.
  virtual void warm_up_step() { run(); }
  /// Called after the intra-op thread count has changed, and before the first step.
  virtual void threads_changed() {}
  /// Checks the result of the first step. Throws std::runtime_error with what was found and
  /// expected.
  virtual void check() = 0;
  /// Checks after the last step that its result is finite. Throws std::runtime_error.
  virtual void check_finite() = 0;
  virtual StepCounts counts() const = 0;
  /// The kernels that the task chose; null where it chooses none.
  virtual std::shared_ptr<const StepChoice> choice() const { return nullptr; }
  /// Runs `steps` more steps; returns the mean time of each phase. Empty for a step of one phase.
  virtual Counters phases_us(int64_t /*steps*/) { return {}; }
  /// Compares the ranks after the last step and runs more steps; returns what communication adds to
  /// a step of `step_us` microseconds. Empty for a task without ranks.
  virtual Counters compare_ranks(double /*step_us*/) { return {}; }
};

}  // namespace fathom::benchmarks
