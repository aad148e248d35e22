// Defaults that depend on this machine, and errors for values that this machine or this build does
// not support.
#include <algorithm>
#include <set>
#include <stdexcept>

#include "benchmarks/error.h"
#include "benchmarks/options/files.h"
#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/option.h"
#include "fixtures/files/file.h"
#include "fixtures/games/ale.h"
#include "fixtures/machine/cpu_kinds.h"
#include "fixtures/machine/cuda_driver.h"
#include "fixtures/machine/gpus.h"
#include "ops/backends/operators/kernel_library.h"

namespace fathom::benchmarks {
namespace {

using fixtures::Device;

/// 1, 2, 4, ... and `cores`.
std::vector<int> default_threads(int cores) {
  std::set<int> counts{cores};
  for (int n = 1; n < cores; n *= 2) counts.insert(n);
  return {counts.begin(), counts.end()};
}

/// Makes the GPU of --fathom_gpu the only one; without it, ranks of one host take one each.
void choose_gpu(Options& options) {
  Axes& axes = options.axes;
  const bool ranks = axes.place || !axes.ranks.empty();
  if (ranks && fixtures::cuda_driver() != nullptr) axes.gpus = fixtures::visible_gpus().size();
  if (!options.was_typed("--fathom_gpu")) {
    if (axes.place && axes.gpus > 0) {
      const auto own = static_cast<std::size_t>(axes.place->local_rank) % axes.gpus;
      fixtures::choose_gpu(std::to_string(own));
    }
    return;
  }
  axes.gpus = 1;
  const std::string flag = "--fathom_gpu=" + options.gpu + ": ";
  if (!axes.devices.empty() &&
      std::find(axes.devices.begin(), axes.devices.end(), Device::kCuda) == axes.devices.end())
    throw UsageError(flag + "needs cuda in --fathom_device");
  bool chosen = false;
  try {
    chosen = fixtures::choose_gpu(options.gpu);
  } catch (const std::runtime_error& error) {
    throw UsageError(flag + error.what());
  }
  const auto& why = fixtures::unavailable_reason(Device::kCuda);
  if (!why.empty()) throw UsageError(flag + why);
  if (!chosen) throw UsageError(flag + "the NVIDIA driver does not list its GPUs");
}

void find_devices(Options& options) {
  auto& devices = options.axes.devices;
  if (devices.empty()) {
    devices = {Device::kCpu};
    const auto& why = fixtures::unavailable_reason(Device::kCuda);
    if (why.empty()) devices.push_back(Device::kCuda);
    if (fixtures::cuda_driver() != nullptr) options.no_gpu = why;
    return;
  }
  if (lists_tests(options.google_benchmark)) return;  // names need no device
  for (const auto device : devices) {
    if (const auto& why = fixtures::unavailable_reason(device); !why.empty()) {
      throw UsageError("--fathom_device=" + std::string(name(device)) + ": " + why);
    }
  }
}

/// Loads the kernels of --fathom_kernels.
void load_library(Options& options) {
  if (options.axes.library == nullptr) return;
  try {
    options.axes.library->find_operators();
  } catch (const std::runtime_error& error) {
    throw UsageError("--fathom_kernels=" + options.kernels + ": " + error.what());
  }
}

void find_data(const fixtures::DataSource& data) {
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
int on_this_host(const Axes& axes, int ranks) {
  return axes.place ? std::min(ranks, axes.place->local_size) : ranks;
}

}  // namespace

int ranks_here(const Axes& axes, int ranks) {
  // mpirun and srun give each rank cores of its own, so that these are not to be shared out.
  const bool has_own_cores = axes.place && axes.place->launcher != "torchrun";
  return has_own_cores ? 1 : on_this_host(axes, ranks);
}

bool has_gpus(const Axes& axes, int ranks) {
  return static_cast<std::size_t>(on_this_host(axes, ranks)) <= axes.gpus;
}

bool has_cores(const Axes& axes, int ranks, int threads) {
  return ranks_here(axes, ranks) * threads <= fixtures::usable_cores();
}

void resolve_for_machine(Options& options) {
  if (options.version || options.help || options.models || options.ops) return;
  Axes& axes = options.axes;
  choose_gpu(options);
  find_devices(options);
  if (axes.threads.empty()) axes.threads = default_threads(fixtures::alike_cores());
  if (axes.ranks.empty() && axes.place) axes.ranks = {axes.place->size};
  if (axes.precisions.empty()) axes.precisions = {fixtures::Precision::kFp32};
  load_library(options);
  for (const auto& option : option_table()) {
    if (option.rules.refusal == nullptr || !has_effect(option, options)) continue;
    const std::string refusal = option.rules.refusal(options);
    if (!refusal.empty()) throw UsageError(option.flag + refusal);
  }
  find_data(options.conditions.data);
  refuse_shared_files(options);
}

}  // namespace fathom::benchmarks
