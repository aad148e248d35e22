#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/machine/process_tuning.h"
#include "benchmarks/tasks/op_task.h"
#include "fixtures/data_source.h"
#include "fixtures/machine/device.h"
#include "fixtures/machine/precision.h"
#include "models/step.h"
#include "ops/core/backend.h"

namespace fathom::benchmarks {

/// A step of a workload, as in vgg/train.
struct StepName {
  std::string workload;
  models::Mode mode;

  bool operator==(const StepName&) const = default;
};

/// The rows that the figures of a report need.
enum class Study { kShort, kFull };

inline constexpr std::array<std::string_view, 2> kStudyNames{"short", "full"};

/// What the command line asks for, checked against this machine. An empty list means the default of
/// each row.
struct Options {
  std::vector<fixtures::Device> devices;
  std::vector<int> threads;  ///< on the CPU; GPU rows run with one
  std::vector<int64_t> batches;
  std::vector<double> batch_scales{1};  ///< of Fathom's batch, where no batches are given
  std::vector<fixtures::Precision> precisions;
  std::vector<ops::Backend> backends;
  std::vector<Cache> caches;  ///< of op rows
  Mkl mkl = Mkl::kStock;
  Malloc malloc = Malloc::kStock;
  uint64_t seed = 0;
  fixtures::DataSource data;
  int64_t replay = 100'000;         ///< frames in the replay memory of fixture rows
  std::string record;               ///< folder for recorded shapes, instead of measuring
  bool profile = false;             ///< op rows after each model row
  bool memory = false;              ///< what each model row's steps hold, by class
  std::optional<StepName> explain;  ///< the rows of this step and of its ops, then where it went
  std::optional<Study> study;       ///< its rows
  std::string samples;              ///< file for every step's time
  std::string shapes;               ///< file with the user's own op shapes
  bool resume = false;              ///< keep the rows that `out` holds, run the others
  bool isolate = false;             ///< each row in a process of its own
  double limit_seconds = 3600;      ///< of an isolated row
  std::optional<double> limit_gb;   ///< of an isolated row's memory; none: what is free
  std::string peaks;                ///< file with the machine's peaks
  bool strict = false;              ///< refuse a machine whose times are doubtful
  bool unchecked = false;           ///< don't look at the machine
  bool models = false;              ///< print the table of workloads and leave
  bool help = false;

  std::string out;  ///< --benchmark_out, where it is JSON: written by us, not by Google Benchmark
  bool console = true;                        ///< --benchmark_format=console
  std::string command_line;                   ///< as it was typed
  std::vector<std::string> typed;             ///< the same, an argument each
  std::vector<std::string> google_benchmark;  ///< what is left for Google Benchmark

  bool writes_files() const { return !out.empty() || !samples.empty(); }
};

/// Throws UsageError with one line: the flag, what was found, what was expected.
Options parse_options(int argc, char** argv);

/// Ours; Google Benchmark prints its own.
std::string options_help();

/// Throws UsageError for an argument that neither side takes, with what the user may have meant.
[[noreturn]] void refuse_argument(const std::string& argument);

}  // namespace fathom::benchmarks
