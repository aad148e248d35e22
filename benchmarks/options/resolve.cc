// Defaults that depend on this machine, and errors for values that this machine or this build does
// not support.
#include <algorithm>
#include <array>
#include <set>
#include <stdexcept>

#include "benchmarks/error.h"
#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/options.h"
#include "benchmarks/options/preset.h"
#include "fixtures/files/file.h"
#include "fixtures/files/text.h"
#include "fixtures/games/ale.h"
#include "fixtures/machine/cpu_kinds.h"
#include "fixtures/machine/cuda_driver.h"
#include "fixtures/machine/gpus.h"
#include "ops/backends/onednn/library.h"
#include "ops/backends/operators/kernel_library.h"

namespace fathom::benchmarks {
namespace {

template <typename Value>
bool holds(const std::vector<Value>& list, Value value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// 1, 2, 4, ... and `cores`.
std::vector<int> default_threads(int cores) {
  std::set<int> counts{cores};
  for (int n = 1; n < cores; n *= 2) counts.insert(n);
  return {counts.begin(), counts.end()};
}

/// Makes the GPU of --fathom_gpu the only one; without it, ranks of one host take one each.
void resolve_gpu(Options& options) {
  const bool ranks = options.place || !options.ranks.empty();
  if (ranks && fixtures::cuda_driver() != nullptr) options.gpus = fixtures::visible_gpus().size();
  if (!options.was_typed("--fathom_gpu")) {
    if (options.place && options.gpus > 0) {
      const auto own = static_cast<std::size_t>(options.place->local_rank) % options.gpus;
      fixtures::choose_gpu(std::to_string(own));
    }
    return;
  }
  options.gpus = 1;
  const std::string flag = "--fathom_gpu=" + options.gpu + ": ";
  if (!options.devices.empty() && !holds(options.devices, fixtures::Device::kCuda))
    throw UsageError(flag + "needs cuda in --fathom_device");
  bool chosen = false;
  try {
    chosen = fixtures::choose_gpu(options.gpu);
  } catch (const std::runtime_error& error) {
    throw UsageError(flag + error.what());
  }
  const auto& why = fixtures::unavailable_reason(fixtures::Device::kCuda);
  if (!why.empty()) throw UsageError(flag + why);
  if (!chosen) throw UsageError(flag + "the NVIDIA driver does not list its GPUs");
}

void resolve_devices(Options& options) {
  using fixtures::Device;
  if (options.devices.empty()) {
    options.devices = {Device::kCpu};
    const auto& why = fixtures::unavailable_reason(Device::kCuda);
    if (why.empty()) options.devices.push_back(Device::kCuda);
    if (fixtures::cuda_driver() != nullptr) options.no_gpu = why;
    return;
  }
  if (lists_tests(options.google_benchmark)) return;  // names need no device
  for (const auto device : options.devices) {
    if (const auto& why = fixtures::unavailable_reason(device); !why.empty()) {
      throw UsageError("--fathom_device=" + std::string(name(device)) + ": " + why);
    }
  }
}

void resolve_threads(Options& options) {
  const int cores = fixtures::usable_cores();
  if (options.threads.empty()) options.threads = default_threads(fixtures::alike_cores());
  if (options.was_typed("--fathom_threads") && !holds(options.devices, fixtures::Device::kCpu)) {
    throw UsageError(
        "--fathom_threads: only CPU rows have several threads; add cpu to --fathom_device");
  }
  for (const int threads : options.threads) {
    if (threads > cores) {
      throw UsageError("--fathom_threads=" + std::to_string(threads) + ": expected 1 to " +
                       std::to_string(cores) + ", the cores that this process may use");
    }
  }
}

constexpr std::array<Conflict, 4> kRankConflicts{{
    {"--fathom_explain", "which profiles one process"},
    {"--fathom_study", "whose rows are the same on every machine"},
    {"--fathom_record", "which measures nothing"},
    {"--fathom_cuda_graph", "a captured step reduces no gradients"},
}};

/// Forgets a launcher that started one process, as srun does for a shell, where the options ask for
/// more ranks or exclude them.
void resolve_launcher(Options& options) {
  if (!options.place || options.place->size > 1) return;
  const bool more =
      std::any_of(options.ranks.begin(), options.ranks.end(), [](int n) { return n > 1; });
  const bool none =
      std::any_of(kRankConflicts.begin(), kRankConflicts.end(),
                  [&](const auto& conflict) { return options.was_typed(conflict.flag); });
  if (more || none || options.isolate) options.place.reset();
}

/// Makes the size of a launcher's group the default.
void resolve_ranks(Options& options) {
  if (options.ranks.empty() && options.place) options.ranks = {options.place->size};
  if (options.ranks.empty()) {
    for (const char* flag : {"--fathom_rank_seconds", "--fathom_bucket_mb"}) {
      if (options.was_typed(flag)) {
        throw UsageError(std::string(flag) + ": needs --fathom_ranks or a launcher");
      }
    }
    return;
  }
  refuse_conflicts(options.was_typed("--fathom_ranks") ? "--fathom_ranks"
                                                       : "ranks of " + options.place->launcher,
                   kRankConflicts, options);
  if (options.place && options.isolate) {
    throw UsageError("--fathom_isolate: does not start processes on the hosts of " +
                     options.place->launcher + "; leave it out, or use --fathom_ranks without " +
                     options.place->launcher);
  }
  for (const int ranks : options.ranks) {
    const std::string flag = "--fathom_ranks=" + std::to_string(ranks) + ": ";
    if (options.place && ranks > options.place->size) {
      throw UsageError(flag + "expected 1 to " + std::to_string(options.place->size) +
                       ", the processes that " + options.place->launcher + " has started");
    }
    if (std::none_of(options.threads.begin(), options.threads.end(),
                     [&](int threads) { return has_cores(options, ranks, threads); })) {
      throw UsageError(flag + "this process may use " +
                       fixtures::counted(fixtures::usable_cores(), "core") +
                       ", expected one for each thread of each rank on this host");
    }
  }
}

void resolve_precisions(Options& options) {
  if (options.precisions.empty()) options.precisions = {fixtures::Precision::kFp32};
  if (holds(options.precisions, fixtures::Precision::kTf32) &&
      !holds(options.devices, fixtures::Device::kCuda)) {
    throw UsageError(
        "--fathom_precision=tf32: runs on a GPU only, but --fathom_device is cpu; expected fp32 or "
        "bf16");
  }
}

/// Throws UsageError for `option` unless there are GPU rows.
void require_gpu(const Options& options, const std::string& option) {
  if (holds(options.devices, fixtures::Device::kCuda)) return;
  const auto& absent = fixtures::unavailable_reason(fixtures::Device::kCuda);
  throw UsageError(option + ": runs on a GPU only" +
                   (absent.empty() ? ", which --fathom_device leaves out" : "; " + absent));
}

constexpr std::array<Conflict, 4> kGraphConflicts{{
    {"--fathom_explain", "which times ops that a replayed graph does not call"},
    {"--fathom_study", "which profiles ops that a replayed graph does not call"},
    {"--fathom_profile", "a replayed graph calls no ops"},
    {"--fathom_memory", "which logs allocations, and a replayed graph makes none"},
}};

constexpr std::array<Conflict, 2> kLayoutConflicts{{
    {"--fathom_explain", "whose op rows are contiguous"},
    {"--fathom_study", "whose op rows are contiguous"},
}};

void resolve_graphs_and_layout(const Options& options) {
  if (options.cuda_graph) {
    require_gpu(options, "--fathom_cuda_graph");
    refuse_conflicts("--fathom_cuda_graph", kGraphConflicts, options);
  }
  if (options.layout != models::Layout::kContiguous) {
    refuse_conflicts("--fathom_layout=" + std::string(name(options.layout)), kLayoutConflicts,
                     options);
  }
}

void resolve_backends(const Options& options) {
  for (const auto backend : {ops::Backend::kCublas, ops::Backend::kCudnn}) {
    if (holds(options.backends, backend))
      require_gpu(options, "--fathom_backend=" + std::string(name(backend)));
  }
  if (!options.kernel_choice.empty() && !holds(options.backends, ops::Backend::kTuned) &&
      options.study != Study::kFull) {
    throw UsageError(
        "--fathom_kernel_choice: needs tuned in --fathom_backend, or --fathom_study=full");
  }
  if (!holds(options.backends, ops::Backend::kOneDnn)) return;
  if (!holds(options.devices, fixtures::Device::kCpu)) {
    throw UsageError(
        "--fathom_backend=onednn: runs on the CPU only, which --fathom_device leaves out");
  }
  if (ops::onednn::version().empty()) {
    throw UsageError(
        "--fathom_backend=onednn: built without oneDNN; configure with -DDNNL_ROOT=DIR");
  }
  if (!ops::onednn::has_bf16() && options.precisions == std::vector{fixtures::Precision::kBf16}) {
    throw UsageError(
        "--fathom_backend=onednn: oneDNN has no bf16 on this CPU, expected fp32 in "
        "--fathom_precision");
  }
}

constexpr std::array<Conflict, 1> kRecordedConflicts{{
    {"--fathom_record", "which records fp32 steps at the workloads' batch sizes"},
}};

constexpr std::array<Conflict, 2> kLibraryConflicts{{
    {"--fathom_study", "whose rows are the same on every machine"},
    {"--fathom_record", "which records the ops of LibTorch"},
}};

/// Finds the kernels of --fathom_kernels.
void resolve_library(Options& options) {
  if (options.library == nullptr) return;
  refuse_conflicts("--fathom_kernels", kLibraryConflicts, options);
  const std::string flag = "--fathom_kernels=" + options.kernels + ": ";
  try {
    options.library->find_operators();
  } catch (const std::runtime_error& error) {
    throw UsageError(flag + error.what());
  }
  if (std::none_of(options.devices.begin(), options.devices.end(),
                   [&](auto device) { return options.library->has_kernels_for(device); })) {
    throw UsageError(flag + "registers kernels for " +
                     std::string(name(options.library->operators().begin()->first)) +
                     ", which is not among the devices of these rows");
  }
}

void resolve_data(Options& options) {
  const fixtures::DataSource& data = options.data;
  if (data.synthetic() && data.fail_at_first_error) {
    throw UsageError("--fathom_data_errors=fail: needs --fathom_data=DIR");
  }
  try {
    if (!data.synthetic()) {
      fixtures::expect_directory(data.directory, "a folder with a sub-folder for each data set");
    }
    if (!data.rom.empty()) fixtures::expect_rom(data.rom);
  } catch (const fixtures::DataError& error) {
    throw UsageError(error.what());
  }
}

/// How many of `ranks` ranks run on this host.
int on_this_host(const Options& options, int ranks) {
  return options.place ? std::min(ranks, options.place->local_size) : ranks;
}

}  // namespace

int ranks_here(const Options& options, int ranks) {
  // mpirun and srun give each rank cores of its own, so that these are not to be shared out.
  const bool has_own_cores = options.place && options.place->launcher != "torchrun";
  return has_own_cores ? 1 : on_this_host(options, ranks);
}

bool has_gpus(const Options& options, int ranks) {
  return static_cast<std::size_t>(on_this_host(options, ranks)) <= options.gpus;
}

bool has_cores(const Options& options, int ranks, int threads) {
  return ranks_here(options, ranks) * threads <= fixtures::usable_cores();
}

void resolve_for_machine(Options& options) {
  if (options.version || options.help || options.models || options.ops) return;
  resolve_launcher(options);
  resolve_gpu(options);
  resolve_devices(options);
  resolve_threads(options);
  resolve_ranks(options);
  resolve_precisions(options);
  resolve_backends(options);
  resolve_library(options);
  for (const char* flag : {"--fathom_batch", "--fathom_precision"}) {
    if (options.was_typed(flag)) refuse_conflicts(flag, kRecordedConflicts, options);
  }
  resolve_graphs_and_layout(options);
  resolve_data(options);
}

}  // namespace fathom::benchmarks
