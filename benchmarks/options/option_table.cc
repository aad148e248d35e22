#include "benchmarks/options/option_table.h"

namespace fathom::benchmarks {
namespace {

constexpr int64_t kLargestBatch = 1 << 16;
constexpr int kMostThreads = 1 << 12;
constexpr int64_t kSmallestReplay = 100;  // Fathom learns from there on
constexpr int64_t kLargestReplay = 10'000'000;

}  // namespace

void declare(CLI::App& app, Options& options, Typed& typed) {
  const auto list = [&](const char* name, auto& target, const char* help) {
    return app.add_option(name, target, help)->delimiter(',')->type_name("LIST");
  };
  const auto names = [](const auto& table) {
    return CLI::IsMember(std::vector<std::string>(table.begin(), table.end()));
  };
  list("--fathom_device", typed.devices, "devices (default: those present)")
      ->check(names(fixtures::kDeviceNames));
  list("--fathom_threads", options.threads,
       "threads of each step (default: 1, 2, 4, ... up to the usable cores)")
      ->check(CLI::Range(1, kMostThreads));
  list("--fathom_batch", options.batches, "batch sizes of the models (default: Fathom's)")
      ->check(CLI::Range(int64_t{1}, kLargestBatch));
  list("--fathom_precision", typed.precisions, "fp32 (default), tf32 on a GPU, bf16 by autocast")
      ->check(names(fixtures::kPrecisionNames));
  list("--fathom_backend", typed.backends, "whose code runs (default: every one that a row has)")
      ->check(names(ops::kBackendNames));
  list("--fathom_cache", typed.caches,
       "hot (default): an op finds its buffers where its last call left them; cold: in memory")
      ->check(names(kCacheNames));
  app.add_option(
         "--fathom_mkl", typed.mkl,
         "native: LibTorch's MKL takes its widest kernels on any maker's CPU (default: stock)")
      ->type_name("CHOICE")
      ->check(names(kMklNames));
  app.add_option("--fathom_malloc", typed.malloc,
                 "tuned: the C library keeps freed memory for the next step (default: stock)")
      ->type_name("CHOICE")
      ->check(names(kMallocNames));
  app.add_option("--fathom_seed", options.seed, "seed of weights, data and dropout (default: 0)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--fathom_data", typed.data,
                 "read data sets from there, a sub-folder each (default: synthetic data)")
      ->type_name("DIR");
  app.add_flag("--fathom_strict_data", options.data.strict,
               "a broken item of a data set ends its load (default: up to 1 % are skipped)");
  app.add_option("--fathom_rom", typed.rom,
                 "play this Atari 2600 game (default: a built-in one; needs -DFATHOM_ALE=ON)")
      ->type_name("FILE");
  app.add_option("--fathom_replay", options.replay,
                 "frames of 7,056 bytes in the replay memory of fixture rows (default: 100000)")
      ->type_name("N")
      ->check(CLI::Range(kSmallestReplay, kLargestReplay));
  app.add_option("--fathom_record", options.record,
                 "writes the op shapes of each workload's steps to this folder and leaves")
      ->type_name("DIR");
  app.add_flag("--fathom_profile", options.profile,
               "after each model row, a row for each op type inside the step");
  app.add_flag("--fathom_memory", options.memory,
               "with each model row, its memory: weights, gradients, feature maps, ...");
  app.add_option("--fathom_explain", typed.explain,
                 "runs this step and its ops alone, and prints where its time goes")
      ->type_name("WORKLOAD/MODE");
  app.add_option("--fathom_study", typed.study,
                 "runs what the figures of results/report need: short, some minutes; full, hours")
      ->type_name("CHOICE")
      ->check(names(kStudyNames));
  app.add_option("--fathom_samples", options.samples,
                 "write every step's time there, as JSON lines")
      ->type_name("FILE");
  app.add_option("--fathom_shapes", options.shapes, "add the op shapes of this file")
      ->type_name("FILE");
  app.add_flag("--fathom_resume", options.resume,
               "keep the rows that --benchmark_out holds and run the others");
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
  app.add_flag("--fathom_strict", options.strict,
               "refuse to measure where the machine makes times doubtful (default: say so)");
  app.add_flag("--fathom_unchecked", options.unchecked, "spare the look at the machine, 0.2 s");
  app.add_option("--fathom_peaks", options.peaks,
                 "take the machine's peaks from this file of --benchmark_out (default: measure)")
      ->type_name("FILE");
  app.add_flag("--fathom_models", options.models, "print the table of workloads and leave");
}

std::vector<std::string> option_names() {
  Options options;
  Typed typed;
  CLI::App app;
  declare(app, options, typed);
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) names.push_back(option->get_name());
  return names;
}

std::string options_help() {
  Options options;
  Typed typed;
  CLI::App app{"Fathom's workloads and their ops as Google Benchmarks."};
  app.set_help_flag();
  declare(app, options, typed);
  return app.help("fathom_bench");
}

}  // namespace fathom::benchmarks
