#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/options/options.h"
#include "benchmarks/tasks/rank_task.h"
#include "fixtures/machine/device.h"
#include "fixtures/machine/precision.h"
#include "ops/core/cost.h"

namespace fathom::ops {
struct ShapeRow;
}

namespace fathom::benchmarks {

struct OpOptions;

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
  bool in_steps;  ///< the workloads use this backend
  Cache cache;
};

/// A benchmark row: its name, which is an interface (docs/results.md), and how to make its task.
struct Row {
  std::string name = {};     ///< without kNameSuffix
  std::string subject = {};  ///< the name without threads; rows with the same one share a task
  int threads = 1;           ///< of each rank
  int ranks = 0;             ///< in its group; 0: it runs in one process without a group
  int ranks_here = 1;        ///< of them, those that share the cores of rank 0
  bool uses_mpi = false;     ///< its group's collectives are MPI's
  fixtures::Device device = fixtures::Device::kCpu;
  fixtures::Precision precision = fixtures::Precision::kFp32;
  std::string backend = {};  ///< the token of its name; empty for fixtures
  /// Whether its task changes the process, so that rows after it would measure something else.
  bool own_process = false;
  bool needs_replacement = false;          ///< it is left out where its kernels replace nothing
  std::vector<std::string> switches = {};  ///< options of that process
  std::function<std::unique_ptr<Task>(const Row&)> make = {};  ///< null for a row with ranks
  /// Makes the task of one rank.
  std::function<std::unique_ptr<RankTask>(const Row&, std::shared_ptr<const fixtures::Group>)>
      make_rank = {};
  Rates rates = {};
  Profiling profiling = Profiling::kNone;
  std::function<Counters()> memory = {};  ///< measures the memory of its step; null: not wanted
  bool samples = false;                   ///< keeps the time of every step
  bool cuda_graph = false;                ///< replays a captured step, which allocates nothing
  std::optional<ops::Cost> cost = {};     ///< estimate for a step
  double set_up_flops = 0;                ///< estimate for what its task computes before steps
  std::optional<StepName> step = {};      ///< of a model row
  std::optional<RowOp> op = {};           ///< of an op row
};

/// Whether even a hot call of an op row reads from memory.
bool exceeds_caches(const Row& row);

/// The rows of the workloads' steps. Throws UsageError for a --fathom_kernel_choice file that
/// cannot be read.
std::vector<Row> step_rows(const Axes& axes, const Conditions& conditions);

/// A line for each batch size and each package of AOTInductor for which the user's networks lack
/// rows.
std::vector<std::string> network_limits(const Axes& axes);

/// The rows of ops. Throws ops::ShapeError for an invalid --fathom_shapes file.
std::vector<Row> op_rows(const Axes& axes, const Conditions& conditions);

/// The rows of collectives, which ranks run: of the gradients and parameters of the workloads.
std::vector<Row> collective_rows(const Axes& axes, const Conditions& conditions);

/// The rows of what users do outside the step.
std::vector<Row> fixture_rows(const Axes& axes, const Conditions& conditions);

/// Filters rows as Google Benchmark does: `filter` is a POSIX extended regular expression that
/// matches a part of the full name; a leading '-' keeps the rows that do not match. Throws
/// UsageError.
std::vector<Row> filtered(const std::vector<Row>& rows, const std::string& filter);

/// A line for each value on the command line, as of --fathom_backend or --fathom_kernels, that none
/// of the `chosen` of `all` rows has. Not for what the filter names itself.
std::vector<std::string> unused_values(const Options& options, const std::vector<Row>& all,
                                       const std::vector<Row>& chosen, const std::string& filter);

/// Why a vendor's library refuses ops of a row's type and pass; empty where it does not.
using Refusal = std::function<std::string(const ops::ShapeRow& row, const OpOptions& options)>;

/// Removes the GPU's rows of op types that a vendor's library refuses there in the row's pass and
/// precision. Calls `note` once for each, with the library's reason.
void drop_refused(std::vector<Row>& rows, const Refusal& refusal_of,
                  const std::function<void(const std::string&)>& note);

}  // namespace fathom::benchmarks
