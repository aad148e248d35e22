#include "benchmarks/options/options.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <stdexcept>

#include "benchmarks/error.h"
#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/nearest.h"
#include "benchmarks/options/option_table.h"
#include "models/table.h"
#include "ops/backends/operators/kernel_library.h"

namespace fathom::benchmarks {
namespace {

/// Options that had another name: the old flag, and what replaces it.
struct Renamed {
  std::string_view flag;
  std::string_view now;
};

constexpr std::array<Renamed, 4> kRenamed{{
    {"--fathom_strict", "--fathom_machine_check=refuse"},
    {"--fathom_unchecked", "--fathom_machine_check=off"},
    {"--fathom_strict_data", "--fathom_data_errors=fail"},
    {"--fathom_study=short", "--fathom_study=fathom"},
}};

void refuse_renamed(const std::vector<std::string>& arguments) {
  for (const auto& argument : arguments) {
    for (const auto& [old, now] : kRenamed) {
      if (argument == old || argument.substr(0, argument.find('=')) == old) {
        throw UsageError(std::string(old) + ": was renamed, expected " + std::string(now));
      }
    }
  }
}

/// The enum value of a name; `names` are in the enum's order.
template <typename Value, typename Names>
Value value(const std::string& typed, const Names& names) {
  return static_cast<Value>(std::find(names.begin(), names.end(), typed) - names.begin());
}

template <typename Value, typename Names>
std::vector<Value> values(const std::vector<std::string>& typed, const Names& names) {
  std::vector<Value> found;
  for (const auto& name : typed) found.push_back(value<Value>(name, names));
  return found;
}

template <typename Value>
void refuse_repeats(const char* flag, const std::vector<Value>& list) {
  if (std::set<Value>(list.begin(), list.end()).size() != list.size()) {
    throw UsageError(std::string(flag) + ": a value occurs twice, expected each value once");
  }
}

StepName step_name(const std::string& typed) {
  std::vector<std::string> known;
  for (const auto& workload : models::workloads()) {
    for (const auto mode : models::modes(workload)) {
      known.push_back(std::string(workload.name) + '/' + std::string(name(mode)));
      if (typed == known.back()) return {std::string(workload.name), mode};
    }
  }
  const auto best = nearest(typed, known, 1);
  throw UsageError("--fathom_explain=" + typed + ": no such step" +
                   (best.empty() ? ", expected a workload of --fathom_models and /train or /infer"
                                 : "; did you mean " + best[0] + "?"));
}

/// The library of --fathom_kernels, which resolve_for_machine() loads.
std::shared_ptr<ops::KernelLibrary> named_library(const std::string& path) {
  try {
    // A file that is missing is missing under any name.
    if (!std::ifstream(path)) throw std::runtime_error(std::strerror(errno));
    return std::make_shared<ops::KernelLibrary>(path);
  } catch (const std::runtime_error& error) {
    throw UsageError("--fathom_kernels=" + path + ": " + error.what());
  }
}

/// The backends of --fathom_backend: ours and that of --fathom_kernels.
std::vector<ops::Backend> backends(const RawOptions& raw, const Options& options) {
  std::vector<ops::Backend> found;
  for (const auto& typed : raw.backends) {
    if (options.library != nullptr && typed == options.library->name()) {
      found.push_back(ops::Backend::kLibrary);
      continue;
    }
    const auto& names = ops::kBackendNames;
    if (std::find(names.begin(), names.end(), typed) == names.end()) {
      std::string known;
      for (const auto name : names) known.append(known.empty() ? "" : ",").append(name);
      if (options.library != nullptr) known.append(",").append(options.library->name());
      throw UsageError(std::string("--fathom_backend: ")
                           .append(typed)
                           .append(" not in {")
                           .append(known)
                           .append("}"));
    }
    found.push_back(value<ops::Backend>(typed, names));
  }
  return found;
}

/// Splits the command line into ours, which it returns, and Google Benchmark's.
std::vector<std::string> take_arguments(int argc, char** argv, Options& options) {
  std::vector<std::string> ours;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    options.command_line += (i == 0 ? "" : " ") + argument;
    options.typed.push_back(argument);
    if (i == 0) continue;
    if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else if (argument == "--version") {
      options.version = true;
    } else {
      (argument.starts_with("--fathom_") ? ours : options.google_benchmark).push_back(argument);
    }
  }
  return ours;
}

void convert(const RawOptions& raw, Options& options) {
  options.devices = values<fixtures::Device>(raw.devices, fixtures::kDeviceNames);
  options.precisions = values<fixtures::Precision>(raw.precisions, fixtures::kPrecisionNames);
  options.data.directory = raw.data;
  options.data.fail_at_first_error = raw.data_errors == kDataErrorsNames[1];
  options.data.rom = raw.rom;
  if (!options.kernels.empty()) options.library = named_library(options.kernels);
  options.backends = backends(raw, options);
  options.caches = values<Cache>(raw.caches, kCacheNames);
  options.mkl = value<Mkl>(raw.mkl, kMklNames);
  options.malloc = value<Malloc>(raw.malloc, kMallocNames);
  options.layout = value<models::Layout>(raw.layout, models::kLayoutNames);
  options.machine_check = value<MachineCheck>(raw.machine_check, kMachineCheckNames);
  refuse_repeats("--fathom_device", options.devices);
  refuse_repeats("--fathom_threads", options.threads);
  refuse_repeats("--fathom_ranks", options.ranks);
  refuse_repeats("--fathom_batch", options.batches);
  refuse_repeats("--fathom_precision", options.precisions);
  refuse_repeats("--fathom_backend", options.backends);
  refuse_repeats("--fathom_cache", options.caches);
}

/// Takes over the flags of the display and of JSON files: Display and JsonFile write both. Google
/// Benchmark writes files in other formats itself.
void take_outputs(Options& options) {
  auto& arguments = options.google_benchmark;
  check_google_benchmark_values(arguments);
  const std::string display =
      google_benchmark_value(arguments, "--benchmark_format", "BENCHMARK_FORMAT", "console");
  options.console = display == "console";
  options.json = display == "json";
  options.display_aggregates_only = displays_aggregates_only(arguments);
  const std::string out = google_benchmark_value(arguments, "--benchmark_out", "BENCHMARK_OUT", "");
  const std::string format =
      google_benchmark_value(arguments, "--benchmark_out_format", "BENCHMARK_OUT_FORMAT", "json");
  if (format == "json" || out.empty()) {
    options.out = out;
    arguments.emplace_back("--benchmark_out=");
  } else if (!options.samples.empty()) {
    throw UsageError("--benchmark_out_format=" + format + ": with --fathom_samples expected json");
  }
  if (options.display_aggregates_only) {
    arguments.emplace_back("--benchmark_display_aggregates_only=false");
  }
}

}  // namespace

bool Options::was_typed(std::string_view flag) const {
  return std::any_of(typed.begin(), typed.end(), [&](const std::string& argument) {
    return argument.substr(0, argument.find('=')) == flag;
  });
}

Options parse_options(int argc, char** argv) {
  Options options;
  const auto ours = take_arguments(argc, argv, options);
  refuse_renamed(ours);
  const RawOptions raw = read_options(ours, options);
  convert(raw, options);
  take_outputs(options);
  if (options.resume && options.out.empty()) {
    throw UsageError("--fathom_resume: needs --benchmark_out=FILE, in JSON");
  }
  if (options.was_typed("--fathom_explain")) options.explain = step_name(raw.explain);
  if (options.was_typed("--fathom_study")) options.study = value<Study>(raw.study, kStudyNames);
  return options;
}

void refuse_argument(const std::string& argument) {
  const std::string flag = argument.substr(0, argument.find('='));
  std::vector<std::string> known = google_benchmark_flags();
  for (const auto& name : option_names()) known.push_back(name);
  known.insert(known.end(), {"--help", "--version"});
  if (std::find(known.begin(), known.end(), flag) != known.end()) {
    throw UsageError(argument + ": " + flag + " takes no such value; --help lists the options");
  }
  const auto best = nearest(flag, known, 1);
  throw UsageError(
      "unknown argument " + argument +
      (best.empty() ? "; --help lists the options" : "; did you mean " + best[0] + "?"));
}

}  // namespace fathom::benchmarks
