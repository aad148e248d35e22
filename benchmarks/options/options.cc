#include "benchmarks/options/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <set>

#include "benchmarks/error.h"
#include "benchmarks/explain/explain_options.h"
#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/nearest.h"
#include "benchmarks/options/option_table.h"
#include "benchmarks/rows/study.h"
#include "fixtures/files/file.h"
#include "fixtures/games/ale.h"
#include "ops/backends/onednn/library.h"

namespace fathom::benchmarks {
namespace {

/// Options that ask for one process, and why.
constexpr std::array<Settled, 2> kNotIsolated{{
    {"--fathom_explain", "which watches a step and its ops in one process"},
    {"--fathom_record", "which measures nothing"},
}};

template <typename Value, typename Names>
std::vector<Value> values(const std::vector<std::string>& typed, const Names& names) {
  std::vector<Value> found;
  for (const auto& name : typed) {
    found.push_back(
        static_cast<Value>(std::find(names.begin(), names.end(), name) - names.begin()));
  }
  return found;
}

template <typename Value>
bool holds(const std::vector<Value>& list, Value value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::vector<int> default_threads(int cores) {
  std::set<int> counts{cores};
  for (int n = 1; n < cores; n *= 2) counts.insert(n);
  return {counts.begin(), counts.end()};
}

template <typename Value>
void refuse_repeats(const char* flag, const std::vector<Value>& list) {
  if (std::set<Value>(list.begin(), list.end()).size() != list.size()) {
    throw UsageError(std::string(flag) + ": the same value twice, expected each once");
  }
}

void settle_devices(Options& options) {
  using fixtures::Device;
  if (options.devices.empty()) {
    options.devices = {Device::kCpu};
    if (fixtures::absence(Device::kCuda).empty()) options.devices.push_back(Device::kCuda);
    return;
  }
  for (const auto device : options.devices) {
    if (const auto& why = fixtures::absence(device); !why.empty()) {
      throw UsageError("--fathom_device=" + std::string(name(device)) + ": " + why);
    }
  }
}

void settle_threads(Options& options) {
  const int cores = fixtures::usable_cores();
  if (options.threads.empty()) {
    options.threads = options.explain ? std::vector{cores} : default_threads(cores);
  } else if (!holds(options.devices, fixtures::Device::kCpu)) {
    throw UsageError(
        "--fathom_threads: only CPU rows have threads, a GPU row runs with one; add cpu to "
        "--fathom_device");
  }
  for (const int threads : options.threads) {
    if (threads > cores) {
      throw UsageError("--fathom_threads=" + std::to_string(threads) + ": expected 1 to " +
                       std::to_string(cores) + ", the cores that this process may use");
    }
  }
}

void settle_precisions(Options& options) {
  if (options.precisions.empty()) options.precisions = {fixtures::Precision::kFp32};
  if (holds(options.precisions, fixtures::Precision::kTf32) &&
      !holds(options.devices, fixtures::Device::kCuda)) {
    throw UsageError(
        "--fathom_precision=tf32: a GPU's precision, but --fathom_device is cpu; expected fp32 or "
        "bf16");
  }
}

void settle_backends(const Options& options) {
  for (const auto backend : {ops::Backend::kCublas, ops::Backend::kCudnn}) {
    if (!holds(options.backends, backend) || holds(options.devices, fixtures::Device::kCuda))
      continue;
    const auto& absent = fixtures::absence(fixtures::Device::kCuda);
    throw UsageError("--fathom_backend=" + std::string(name(backend)) + ": runs on a GPU only" +
                     (absent.empty() ? ", which --fathom_device leaves out" : "; " + absent));
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

void settle_data(Options& options) {
  const fixtures::DataSource& data = options.data;
  if (data.synthetic() && data.strict) {
    throw UsageError("--fathom_strict_data: needs --fathom_data=DIR");
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

void settle_isolation(const Given& given, const Options& options) {
  if (options.isolate) {
    refuse_beside("--fathom_isolate", kNotIsolated, given);
    return;
  }
  for (const char* flag : {"--fathom_limit_seconds", "--fathom_limit_gb"}) {
    if (given(flag)) throw UsageError(std::string(flag) + ": needs --fathom_isolate");
  }
}

/// A JSON output file is ours to write, so that it is whole at every moment. Google Benchmark has a
/// file of its own to open, or it refuses our file reporter.
void take_output_file(Options& options) {
  auto& arguments = options.google_benchmark;
  options.console = google_benchmark_value(arguments, "--benchmark_format", "BENCHMARK_FORMAT",
                                           "console") == "console";
  const std::string out = google_benchmark_value(arguments, "--benchmark_out", "BENCHMARK_OUT", "");
  const std::string format =
      google_benchmark_value(arguments, "--benchmark_out_format", "BENCHMARK_OUT_FORMAT", "json");
  if (format == "json" || out.empty()) {
    options.out = out;
    arguments.emplace_back(options.writes_files() ? "--benchmark_out=/dev/null"
                                                  : "--benchmark_out=");
  } else if (!options.samples.empty()) {
    throw UsageError("--fathom_samples: goes with --benchmark_out_format=json, found " + format);
  }
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  Typed typed;
  CLI::App app;
  declare(app, options, typed);
  std::vector<std::string> ours;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    options.command_line += (i == 0 ? "" : " ") + argument;
    options.typed.push_back(argument);
    if (i == 0) continue;
    if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else {
      (argument.rfind("--fathom_", 0) == 0 ? ours : options.google_benchmark).push_back(argument);
    }
  }
  std::reverse(ours.begin(), ours.end());  // CLI11 takes them from the back
  try {
    app.parse(ours);
  } catch (const CLI::ExtrasError&) {
    refuse_argument(ours.back());
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  options.devices = values<fixtures::Device>(typed.devices, fixtures::kDeviceNames);
  options.precisions = values<fixtures::Precision>(typed.precisions, fixtures::kPrecisionNames);
  options.data.directory = typed.data;
  options.data.rom = typed.rom;
  options.backends = values<ops::Backend>(typed.backends, ops::kBackendNames);
  options.caches = values<Cache>(typed.caches, kCacheNames);
  options.mkl = values<Mkl>({typed.mkl}, kMklNames)[0];
  options.malloc = values<Malloc>({typed.malloc}, kMallocNames)[0];
  refuse_repeats("--fathom_device", options.devices);
  refuse_repeats("--fathom_threads", options.threads);
  refuse_repeats("--fathom_batch", options.batches);
  refuse_repeats("--fathom_precision", options.precisions);
  refuse_repeats("--fathom_backend", options.backends);
  refuse_repeats("--fathom_cache", options.caches);
  take_output_file(options);
  if (options.resume && options.out.empty()) {
    throw UsageError("--fathom_resume: needs --benchmark_out=FILE, in JSON");
  }
  const Given given = [&](const char* flag) { return app.count(flag) > 0; };
  if (given("--fathom_explain")) settle_explanation(typed.explain, given, options);
  if (given("--fathom_study")) settle_study(typed.study, given, options);
  settle_isolation(given, options);
  if (options.strict && options.unchecked) {
    throw UsageError("--fathom_strict: not together with --fathom_unchecked");
  }
  if (options.help || options.models) return options;
  settle_devices(options);
  settle_threads(options);
  settle_precisions(options);
  settle_backends(options);
  settle_data(options);
  return options;
}

void refuse_argument(const std::string& argument) {
  std::vector<std::string> known = google_benchmark_flags();
  for (const auto& flag : option_names()) known.push_back(flag);
  const std::string flag = argument.substr(0, argument.find('='));
  if (std::find(known.begin(), known.end(), flag) != known.end()) {
    throw UsageError(argument + ": " + flag + " takes no such value; --help lists the options");
  }
  const auto best = nearest(flag, known, 1);
  throw UsageError(
      "unknown argument " + argument +
      (best.empty() ? "; --help lists the options" : "; did you mean " + best[0] + "?"));
}

}  // namespace fathom::benchmarks
