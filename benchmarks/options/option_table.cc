#include "benchmarks/options/option_table.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>

#include "benchmarks/error.h"

namespace fathom::benchmarks {
namespace {

constexpr int64_t kMaxBatch = 1 << 16;
constexpr int kMaxThreads = 1 << 12;
constexpr int64_t kMinReplay = 100;  // Fathom learns from there on
constexpr int64_t kMaxReplay = 10'000'000;

/// Values with commas between them.
template <typename Values>
CLI::Option* list(CLI::App& app, const char* flag, Values& values, const char* help) {
  return app.add_option(flag, values, help)->delimiter(',')->type_name("LIST");
}

CLI::Validator names(std::span<const std::string_view> table) {
  return CLI::IsMember(std::vector<std::string>(table.begin(), table.end()));
}

/// What the rows differ in.
void declare_axes(CLI::App& app, Options& options, RawOptions& raw) {
  list(app, "--fathom_device", raw.devices, "devices (default: those present)")
      ->check(names(fixtures::kDeviceNames));
  list(app, "--fathom_threads", options.threads,
       "threads of each step (default: 1, 2, 4, ... up to the usable cores)")
      ->check(CLI::Range(1, kMaxThreads));
  list(app, "--fathom_batch", options.batches, "batch sizes of the models (default: Fathom's)")
      ->check(CLI::Range(int64_t{1}, kMaxBatch));
  list(app, "--fathom_precision", raw.precisions, "fp32 (default), tf32 on a GPU, bf16 by autocast")
      ->check(names(fixtures::kPrecisionNames));
  list(app, "--fathom_backend", raw.backends, "whose code runs (default: every one that a row has)")
      ->check(names(ops::kBackendNames));
  list(app, "--fathom_cache", raw.caches,
       "hot (default): an op finds its buffers where its last call left them; cold: in memory")
      ->check(names(kCacheNames));
}

/// The whole process.
void declare_process(CLI::App& app, Options& options, RawOptions& raw) {
  app.add_option(
         "--fathom_mkl", raw.mkl,
         "native: LibTorch's MKL takes its widest kernels on any maker's CPU (default: stock)")
      ->type_name("CHOICE")
      ->check(names(kMklNames));
  app.add_option("--fathom_malloc", raw.malloc,
                 "tuned: the C library keeps freed memory for the next step (default: stock)")
      ->type_name("CHOICE")
      ->check(names(kMallocNames));
  app.add_option("--fathom_seed", options.seed, "seed of weights, data and dropout (default: 0)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
}

/// Where data comes from.
void declare_data(CLI::App& app, Options& options, RawOptions& raw) {
  app.add_option("--fathom_data", raw.data,
                 "read data sets from there, a sub-folder each (default: synthetic data)")
      ->type_name("DIR");
  app.add_flag("--fathom_strict_data", options.data.strict,
               "a broken item of a data set ends its load (default: up to 1 % are skipped)");
  app.add_option("--fathom_rom", raw.rom,
                 "play this Atari 2600 game (default: a built-in one; needs -DFATHOM_ALE=ON)")
      ->type_name("FILE");
  app.add_option("--fathom_replay", options.replay,
                 "frames of 7,056 bytes in the replay memory of fixture rows (default: 100000)")
      ->type_name("N")
      ->check(CLI::Range(kMinReplay, kMaxReplay));
}

/// What is done with the rows.
void declare_modes(CLI::App& app, Options& options, RawOptions& raw) {
  app.add_option("--fathom_record", options.record,
                 "writes the op shapes of each workload's steps to this folder and leaves")
      ->type_name("DIR");
  app.add_flag("--fathom_profile", options.profile,
               "after each model row, a row for each op type inside the step");
  app.add_flag("--fathom_memory", options.memory,
               "with each model row, its memory: weights, gradients, feature maps, ...");
  app.add_option("--fathom_explain", raw.explain,
                 "runs this step and its ops alone, and prints where its time goes")
      ->type_name("WORKLOAD/MODE");
  app.add_option("--fathom_study", raw.study,
                 "runs what the figures of results/report need: short, some minutes; full, hours")
      ->type_name("CHOICE")
      ->check(names(kStudyNames));
}

/// Files beside --benchmark_out.
void declare_files(CLI::App& app, Options& options) {
  app.add_option("--fathom_samples", options.samples,
                 "write every step's time there, as JSON lines")
      ->type_name("FILE");
  app.add_option("--fathom_shapes", options.shapes, "add the op shapes of this file")
      ->type_name("FILE");
  app.add_flag("--fathom_resume", options.resume,
               "keep the rows that --benchmark_out holds and run the others");
}

/// A process for each row.
void declare_isolation(CLI::App& app, Options& options) {
  app.add_flag("--fathom_isolate", options.isolate,
               "run each row in a process of its own: a crash, a hang or want of memory ends that "
               "row alone");
  app.add_option("--fathom_limit_seconds", options.limit_seconds,
                 "of an isolated row, its building included (default: 3600)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app.add_option("--fathom_limit_gb", options.limit_gb,
                 "of an isolated row's own memory (default: what is free when it starts)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
}

/// The machine and its peaks.
void declare_machine(CLI::App& app, Options& options) {
  app.add_flag("--fathom_strict", options.strict,
               "refuse to measure where the machine makes times doubtful (default: say so)");
  app.add_flag("--fathom_unchecked", options.unchecked, "spare the look at the machine, 0.2 s");
  app.add_option("--fathom_peaks", options.peaks,
                 "take the machine's peaks from this file of --benchmark_out (default: measure)")
      ->type_name("FILE");
  app.add_flag("--fathom_models", options.models, "print the table of workloads and leave");
  app.add_flag("--fathom_ops", options.ops,
               "print the op types with the fields of their shapes and leave");
}

/// Every --fathom_ option: its name, its help, its values. --help shows them in this order.
void declare(CLI::App& app, Options& options, RawOptions& raw) {
  declare_axes(app, options, raw);
  declare_process(app, options, raw);
  declare_data(app, options, raw);
  declare_modes(app, options, raw);
  declare_files(app, options);
  declare_isolation(app, options);
  declare_machine(app, options);
}

}  // namespace

RawOptions read_options(std::vector<std::string> arguments, Options& options) {
  RawOptions raw;
  CLI::App app;
  declare(app, options, raw);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::ExtrasError&) {
    refuse_argument(arguments.back());
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  return raw;
}

std::vector<std::string> option_names() {
  Options options;
  RawOptions raw;
  CLI::App app;
  declare(app, options, raw);
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) names.push_back(option->get_name());
  return names;
}

std::string options_help() {
  Options options;
  RawOptions raw;
  CLI::App app{"Fathom's workloads and their ops as Google Benchmarks."};
  app.set_help_flag();
  declare(app, options, raw);
  return app.help("fathom_bench");
}

}  // namespace fathom::benchmarks
