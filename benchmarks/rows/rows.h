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
#include "ops/core/cost.h"

namespace fathom::ops {
struct ShapeRow;
}

namespace fathom::benchmarks {

/// What Google Benchmark appends to the name of every row, the same for all.
inline constexpr const char* kNameSuffix = "/process_time/real_time";

/// The rates of a row that are compared with the machine's peaks.
struct Rates {
  bool flops = false;
  bool bytes = false;
};

/// What is profiled in a few untimed steps after each timed pass.
enum class Profiling { kNone, kOpTypes, kOpShapes };

/// The op of an op row.
struct RowOp {
  std::shared_ptr<const ops::ShapeRow> shape;
  ops::Backend backend;
  bool in_steps;  ///< the workloads run this backend's code
  Cache cache;
  bool exceeds_caches;  ///< only in explanations: even a hot call reads its buffers from memory
};

/// A benchmark before it runs: its name, which is a contract (results/README.md), and how to build
/// its task.
struct Row {
  std::string name = {};     ///< without kNameSuffix
  std::string subject = {};  ///< rows of one subject differ in threads only and share a task
  int threads = 1;
  fixtures::Device device = fixtures::Device::kCpu;
  fixtures::Precision precision = fixtures::Precision::kFp32;
  std::function<std::unique_ptr<Task>()> make = {};
  Rates rates = {};
  Profiling profiling = Profiling::kNone;
  std::function<Counters()> memory = {};  ///< measures the memory of its steps; null: not asked for
  bool samples = false;                   ///< keeps the time of every step
  std::optional<ops::Cost> cost = {};     ///< of a step, roughly
  std::optional<StepName> step = {};      ///< of a model row
  std::optional<RowOp> op = {};           ///< of an op row
};

/// Every row of the tables that the options leave, in the order in which they run. Throws
/// ops::ShapeError for the user's shapes file, UsageError for a name that occurs twice.
std::vector<Row> make_rows(const Options& options);

/// The rows of the workloads' steps among them.
std::vector<Row> step_rows(const Options& options);

/// The rows of ops among them. Throws ops::ShapeError for the user's shapes file.
std::vector<Row> op_rows(const Options& options);

/// The rows that a Google Benchmark filter finds: a POSIX extended regular expression, searched for
/// in the full name; a leading '-' keeps the others. Throws UsageError.
std::vector<Row> filtered(const std::vector<Row>& rows, const std::string& filter);

}  // namespace fathom::benchmarks
