#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/options/options.h"
#include "benchmarks/tasks/task.h"
#include "fixtures/machine/device.h"
#include "fixtures/machine/precision.h"

namespace fathom::benchmarks {

/// What Google Benchmark appends to the name of every row, the same for all.
inline constexpr const char* kNameSuffix = "/process_time/real_time";

/// The rates of a row that are set beside the machine's peaks.
struct Rates {
  bool flops = false;
  bool bytes = false;
};

/// What a few steps after each timed pass are watched for.
enum class Watch { kNothing, kTypes, kShapes };

/// The op of an op row.
struct RowOp {
  std::shared_ptr<const ops::ShapeRow> shape;
  ops::Backend backend;
  bool in_steps;  ///< this backend's code is what the workloads run
  Cache cache;
  bool cold_anyway;  ///< of an explanation: a hot call finds its buffers in memory, too
};

/// A benchmark before it runs: its name, which is a contract (results/README.md), and how to build
/// its task.
struct Row {
  std::string name;     ///< without kNameSuffix
  std::string subject;  ///< rows of one subject differ in threads only and share a task
  int threads;
  fixtures::Device device;
  fixtures::Precision precision;
  std::function<std::unique_ptr<Task>()> make;
  Rates rates = {};
  Watch watch = Watch::kNothing;
  std::function<Counters()> memory = {};  ///< what its steps hold; null where nobody asks
  bool samples = false;                   ///< every step's time is kept
  std::optional<ops::Cost> cost = {};     ///< of a step, roughly
  std::optional<RowOp> op = {};
};

/// Every row of the tables that the options leave, in the order in which they run. Throws
/// ops::ShapeError for the user's shapes file.
std::vector<Row> make_rows(const Options& options);

/// Those that a Google Benchmark filter finds (a POSIX extended regular expression, searched for in
/// the full name; a leading '-' keeps the others). Throws UsageError.
std::vector<Row> filtered(const std::vector<Row>& rows, const std::string& filter);

}  // namespace fathom::benchmarks
