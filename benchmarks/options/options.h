#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/machine/cache.h"
#include "benchmarks/machine/process_tuning.h"
#include "fixtures/data_source.h"
#include "fixtures/machine/device.h"
#include "fixtures/machine/precision.h"
#include "fixtures/ranks/place.h"
#include "models/layout.h"
#include "models/mode.h"
#include "ops/core/backend.h"

namespace fathom::ops {
class KernelLibrary;  // its header would reach every file of the program
}

namespace fathom::benchmarks {

/// A step of a workload, as in "vgg/train".
struct StepName {
  std::string workload;
  models::Mode mode;

  bool operator==(const StepName&) const = default;
};

/// Sets of rows for a report: of Fathom's workloads, of TBD's, of all with other kernels, and of
/// language models.
enum class Study { kFathom, kTbd, kFull, kModern };

inline constexpr std::array<std::string_view, 4> kStudyNames{"fathom", "tbd", "full", "modern"};

/// What happens where the machine makes times unreliable.
enum class MachineCheck { kWarn, kRefuse, kOff };

inline constexpr std::array<std::string_view, 3> kMachineCheckNames{"warn", "refuse", "off"};

constexpr std::string_view name(Study study) {
  return kStudyNames[static_cast<std::size_t>(study)];
}

constexpr std::string_view name(MachineCheck check) {
  return kMachineCheckNames[static_cast<std::size_t>(check)];
}

/// What rows there are: one for each combination. An empty list means the default of each row.
struct Axes {
  std::vector<fixtures::Device> devices;
  std::vector<int> threads;  ///< of CPU rows; GPU rows have one thread
  std::vector<int> ranks;    ///< numbers of ranks of training rows; empty: no rows with ranks
  std::vector<int64_t> batches;
  std::vector<double> batch_scales{1};  ///< factors on the default batch, used without `batches`
  std::vector<int64_t> contexts;        ///< of language models
  std::vector<fixtures::Precision> precisions;
  std::vector<ops::Backend> backends;
  std::vector<Cache> caches{Cache::kHot};       ///< of op rows
  std::shared_ptr<ops::KernelLibrary> library;  ///< the user's kernels; null: none
  bool keep_unreplaced = false;                 ///< times rows whose kernels replace nothing
  std::string shapes;                           ///< file with the user's own op shapes
  std::optional<fixtures::Place> place;         ///< under a launcher
  std::size_t gpus = 0;                         ///< of this host, for its ranks
};

/// Under which conditions a row is measured.
struct Conditions {
  Mkl mkl = Mkl::kStock;
  Malloc malloc = Malloc::kStock;
  std::string kernel_choice;                            ///< file with the choices of tuned steps
  models::Layout layout = models::Layout::kContiguous;  ///< of networks with convolutions
  bool cuda_graph = false;                              ///< replays steps on a GPU as CUDA graphs
  double bucket_mb = 25;  ///< MiB of gradients that ranks reduce at once
  uint64_t seed = 0;
  fixtures::DataSource data;
  int64_t replay = 100'000;  ///< frames in the replay memory of fixture rows
};

/// What is recorded of each row, beside its times.
struct Recording {
  bool profile = false;  ///< adds rows for the op types inside each step
  bool memory = false;   ///< adds the memory of each step by class
  std::string samples;   ///< file for the time of every step
};

/// The command line and what follows from it.
struct Options {
  Axes axes;
  Conditions conditions;
  Recording recording;
  std::string gpu;                    ///< index or UUID of the only GPU to use; empty: CUDA's first
  std::string no_gpu;                 ///< why the axes leave out the GPU, though there is a driver
  std::string kernels;                ///< path of the library of the axes
  std::vector<std::string> networks;  ///< files with the user's networks
  std::string network_inputs;         ///< their inputs, as read_arguments() takes them
  std::string onednn;                 ///< path of the oneDNN that backend:onednn calls; empty: own
  std::optional<StepName> explain;    ///< runs this step and its ops, then prints an explanation
  std::optional<Study> study;         ///< runs the rows of this study
  std::string record;                 ///< folder for recorded shapes; the program measures nothing
  std::string peaks;                  ///< file with the machine's peaks
  std::string machine_name;           ///< of the user's own; empty: none
  bool resume = false;                ///< keeps the rows that `out` holds and runs the others
  bool isolate = false;               ///< runs each row in its own process
  double limit_seconds = 3600;        ///< of an isolated row
  std::optional<double> limit_gb;     ///< of an isolated row's memory; no value: the free memory
  double rank_seconds = 120;          ///< longest wait for another rank
  MachineCheck machine_check = MachineCheck::kWarn;
  bool models = false;  ///< prints the table of workloads and exits
  bool ops = false;     ///< prints the op types and exits
  bool version = false;
  bool help = false;

  std::string out;      ///< --benchmark_out in JSON, which we write ourselves; else empty
  bool console = true;  ///< --benchmark_format=console
  bool json = false;    ///< --benchmark_format=json
  bool display_aggregates_only = false;       ///< for rows with repetitions
  std::string command_line;                   ///< as typed
  std::vector<std::string> typed;             ///< the same, one argument each
  std::vector<std::string> google_benchmark;  ///< arguments for Google Benchmark

  /// Whether the command line holds a flag, as in "--fathom_batch".
  bool was_typed(std::string_view flag) const;
};

/// Parses the command line of a process that a launcher has started at `place`, if any. Throws
/// UsageError with one line: the flag, what was found, what was expected.
Options parse_options(int argc, char** argv, const std::optional<fixtures::Place>& place);

/// Fills empty axes with this machine's defaults. Throws UsageError for a value that this machine
/// or this build does not support.
void resolve_for_machine(Options& options);

/// How many of `ranks` ranks share the cores of this process, as far as is known before they join.
int ranks_here(const Axes& axes, int ranks);

/// Whether this host has a GPU for each of those among `ranks` ranks that run on it.
bool has_gpus(const Axes& axes, int ranks);

/// Whether those cores suffice for so many ranks of `threads` threads.
bool has_cores(const Axes& axes, int ranks, int threads);

}  // namespace fathom::benchmarks
