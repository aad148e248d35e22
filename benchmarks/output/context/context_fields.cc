#include "benchmarks/output/context/context_fields.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace fathom::benchmarks {
namespace {

struct Entry {
  std::string_view key;  ///< a start with "..." stands for all entries that begin so
  ContextField field;
};

using enum ContextField;

constexpr Entry kEntries[] = {
    // of Google Benchmark
    {"aslr_enabled", kDescription},
    {"caches", kMachine},
    {"cpu_scaling_enabled", kSetting},
    {"date", kDescription},
    {"executable", kDescription},
    {"google_benchmark_build_type", kDescription},
    {"host_name", kDescription},  // a container has its own
    {"json_schema_version", kDescription},
    {"library_build_type", kSetting},
    {"library_version", kDescription},
    {"load_avg", kDescription},
    {"mhz_per_cpu", kDescription},
    {"num_cpus", kMachine},
    // the machine
    {"cpu", kMachine},
    {"cpu_capability", kMachine},
    {"cpu_family", kMachine},
    {"cpu_model", kMachine},
    {"cpu_stepping", kMachine},
    {"gpu", kMachine},
    {"gpu_highest_clock_mhz", kDescription},
    {"gpu_memory_bytes", kDescription},
    {"gpu_pci_bus_id", kDescription},
    // its settings and state
    {"affinity", kSetting},
    {"gpu_application_clock_mhz", kSetting},
    {"gpu_driver", kSetting},
    {"gpu_ecc", kSetting},
    {"gpu_mig", kSetting},
    {"gpu_persistence", kSetting},
    {"gpu_power_limit_w", kSetting},
    {"machine_cores", kSetting},
    {"machine_cpu_quota", kSetting},
    {"machine_governor", kSetting},
    {"machine_gpu_clock", kDescription},
    {"machine_huge_pages", kSetting},
    {"machine_others", kDescription},
    {"machine_smt", kSetting},
    {"machine_steal", kDescription},
    {"machine_turbo", kSetting},
    {"peak_...", kDescription},  // a resumed run keeps those of its file
    // versions
    {"build_id", kRun},
    {"compiler", kSetting},
    {"compiler_flags", kSetting},
    {"cublas", kSetting},
    {"cuda_driver", kSetting},
    {"cuda_runtime", kSetting},
    {"cudnn", kSetting},
    {"fathom_schema", kDescription},
    {"fathom_version", kSetting},
    {"git_commit", kRun},
    {"libraries", kSetting},
    {"libtorch", kSetting},
    {"libtorch_mkl", kSetting},
    {"libtorch_onednn", kSetting},
    {"onednn", kSetting},
    // the environment
    {"allocator", kSetting},
    {"cuda_environment", kSetting},
    {"environment", kSetting},
    {"malloc", kSetting},
    {"openmp", kSetting},
    // ranks
    {"hosts", kSetting},
    {"launcher", kSetting},
    {"rank_cpu_models", kSetting},
    {"rank_interface", kSetting},
    {"ranks", kDescription},
    // the command line, beside the options of option_table()
    {"command_line", kDescription},
    {"repetitions", kRun},
    // tables for readers of the file
    {"default_batches", kDescription},
    {"machine_identity", kDescription},
    {"op_classes", kDescription},
    {"settings", kDescription},
    {"variant_of", kDescription},
};

/// All of them, with those of the options.
const std::vector<Entry>& all_entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> made(std::begin(kEntries), std::end(kEntries));
    for (const auto& option : option_table()) {
      const OptionContext& context = option.rules.context;
      if (!context.key.empty()) made.push_back({context.key, context.field});
    }
    return made;
  }();
  return all;
}

bool is_named(const Entry& entry, std::string_view key) {
  constexpr std::string_view kAny = "...";
  return entry.key.ends_with(kAny)
             ? key.starts_with(entry.key.substr(0, entry.key.size() - kAny.size()))
             : key == entry.key;
}

const Entry* find(std::string_view key) {
  const auto& all = all_entries();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Entry& one) { return is_named(one, key); });
  return found == all.end() ? nullptr : &*found;
}

/// The environment can ask LibTorch for fewer vector instructions than the CPU has.
ContextField field_of(const Entry& entry) {
  const bool asked = entry.key == "cpu_capability" && std::getenv("ATEN_CPU_CAPABILITY") != nullptr;
  return asked ? kSetting : entry.field;
}

}  // namespace

ContextField context_field(std::string_view key) {
  const Entry* entry = find(key);
  return entry == nullptr ? kDescription : field_of(*entry);
}

bool is_context_field(std::string_view key) { return find(key) != nullptr; }

std::vector<std::string_view> context_fields(ContextField field) {
  std::vector<std::string_view> keys;
  for (const auto& entry : all_entries()) {
    if (field_of(entry) == field) keys.push_back(entry.key);
  }
  return keys;
}

std::string context_field_list(ContextField field) {
  std::string list;
  for (const auto key : context_fields(field)) list.append(list.empty() ? "" : " ").append(key);
  return list;
}

}  // namespace fathom::benchmarks
