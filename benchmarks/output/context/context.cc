#include "benchmarks/output/context/context.h"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "benchmarks/machine/process_tuning.h"
#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/output/context/build_info.h"
#include "benchmarks/output/context/context_fields.h"
#include "benchmarks/output/context/environment.h"
#include "benchmarks/output/context/loaded_libraries.h"
#include "fixtures/content_hash.h"
#include "fixtures/machine/cpu_model.h"
#include "fixtures/machine/cpus.h"
#include "git_commit.h"
#include "models/step.h"
#include "ops/backends/onednn/library.h"
#include "ops/cuda/library.h"
#include "ops/types/table.h"

namespace fathom::benchmarks {
namespace {

/// Version of the results' format; docs/results.md has the rule by which it changes.
constexpr const char* kSchema = "1.5";

/// The word after the first `marker` that a digit follows.
std::string version_after(const std::string& text, const std::string& marker) {
  for (auto at = text.find(marker); at != std::string::npos; at = text.find(marker, at + 1)) {
    const auto begin = at + marker.size();
    if (begin == text.size() || text[begin] < '0' || text[begin] > '9') continue;
    return text.substr(begin, text.find(' ', begin) - begin);
  }
  return {};
}

/// What the context says of an option.
std::string value_of(const Option& option, const Options& options) {
  if (option.rules.context.value != nullptr) return option.rules.context.value(options);
  const std::string value = option.value.words(options)[0];
  const bool is_hashed = option.rules.file == OptionRules::File::kInput && !value.empty();
  return is_hashed ? fixtures::content_hash(value) : value;
}

/// Two builds of one commit differ only with local changes.
std::string changed_build() {
  constexpr std::string_view kCommit = FATHOM_GIT_COMMIT;
  return kCommit.ends_with("-dirty") || kCommit == "unknown" ? program_build_id() : "";
}

/// "13.0" of CUDA's number 13000.
std::string cuda_version(int number) {
  return std::to_string(number / 1000) + '.' + std::to_string(number % 1000 / 10);
}

/// Appends "key:value" to a list that is separated by spaces.
void add_pair(std::string& list, std::string_view key, std::string_view value) {
  list += (list.empty() ? "" : " ") + std::string(key) + ':' + std::string(value);
}

void add_gpu(ContextEntries& entries) {
  const ops::CudaLibrary* library = ops::cuda_library();
  if (library == nullptr) return;
  const ops::CudaDevice device = library->device();
  entries.emplace_back("gpu", device.name);
  entries.emplace_back("gpu_pci_bus_id", device.pci_bus_id);
  entries.emplace_back("gpu_memory_bytes", std::to_string(std::llround(device.memory_bytes)));
  entries.emplace_back("cuda_driver", cuda_version(device.driver));
  entries.emplace_back("cuda_runtime", cuda_version(device.runtime));
  entries.emplace_back("cublas", std::to_string(device.cublas));
  entries.emplace_back("cudnn", std::to_string(at::globalContext().versionCuDNN()));
  if (const Nvml* gpu = Nvml::get(); gpu != nullptr) {
    for (auto& entry : gpu_settings(*gpu)) entries.push_back(std::move(entry));
  }
}

}  // namespace

ContextEntries context(const Options& options) {
  const fixtures::CpuModel cpu = fixtures::cpu_model();
  ContextEntries entries{
      {"fathom_version", kVersion},
      {"fathom_schema", kSchema},
      {"git_commit", FATHOM_GIT_COMMIT},
      {"build_id", changed_build()},
      {"command_line", options.command_line},
      {"libtorch", TORCH_VERSION},
      {"libtorch_mkl", version_after(at::get_mkl_version(), "Version ")},
      {"libtorch_onednn", version_after(at::get_mkldnn_version(), "v")},
      {"onednn", ops::onednn::version()},
      {"compiler", kCompiler},
      {"compiler_flags", kCompilerFlags},
      {"cpu", cpu.name},
      {"cpu_family", cpu.family},
      {"cpu_model", cpu.model},
      {"cpu_stepping", cpu.stepping},
      {"cpu_capability", at::get_cpu_capability()},
      {"affinity", fixtures::cpu_list(fixtures::usable_cpus())},
      {"allocator", allocator()},
      {"libraries", loaded_libraries()},
      {"repetitions", std::to_string(repetitions(options.google_benchmark))},
  };
  for (const auto& option : option_table()) {
    if (const auto& key = option.rules.context.key; !key.empty())
      entries.emplace_back(key, value_of(option, options));
  }
  for (auto& group : environment_groups()) entries.push_back(std::move(group));
  add_gpu(entries);
  return entries;
}

ContextEntries gpu_settings(const Nvml& gpu) {
  const auto switched = [](std::optional<bool> on) {
    return on ? std::optional<std::string>(*on ? "on" : "off") : std::nullopt;
  };
  const auto number = [](auto value) {
    return value ? std::optional(std::to_string(std::llround(*value))) : std::nullopt;
  };
  const std::vector<std::pair<const char*, std::optional<std::string>>> settings{
      {"gpu_driver", gpu.driver()},
      {"gpu_persistence", switched(gpu.persistence())},
      {"gpu_mig", switched(gpu.mig())},
      {"gpu_ecc", switched(gpu.ecc())},
      {"gpu_power_limit_w", number(gpu.power_limit_w())},
      {"gpu_application_clock_mhz", number(gpu.application_clock_mhz())},
      {"gpu_highest_clock_mhz", number(gpu.highest_clock_mhz())},
  };
  ContextEntries entries;
  for (const auto& [key, value] : settings) {
    if (value) entries.emplace_back(key, *value);
  }
  return entries;
}

ContextEntries table_context() {
  std::string batches;
  std::string variants;
  std::string classes;
  for (const auto& workload : models::workloads()) {
    for (const auto mode : models::modes(workload)) {
      add_pair(batches, std::string(workload.name) + '/' + std::string(name(mode)),
               std::to_string(models::default_batch(workload, mode)));
    }
    if (!workload.variant_of.empty()) add_pair(variants, workload.name, workload.variant_of);
  }
  for (const auto& type : ops::op_types()) add_pair(classes, type.name, ops::name(type.op_class));
  return {{"default_batches", batches},
          {"variant_of", variants},
          {"op_classes", classes},
          {"machine_identity", context_field_list(ContextField::kMachine)},
          {"settings", context_field_list(ContextField::kSetting)}};
}

}  // namespace fathom::benchmarks
