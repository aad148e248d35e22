#include "benchmarks/options/option_table.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <sstream>

#include "benchmarks/error.h"

namespace fathom::benchmarks {
namespace {

constexpr int64_t kMaxBatch = 1 << 16;
constexpr int kMaxThreads = 1 << 12;
constexpr int kMaxRanks = 1 << 12;
constexpr int64_t kMinReplay = 100;  // Fathom starts to learn after this many frames
constexpr int64_t kMaxReplay = 10'000'000;

constexpr std::size_t kHelpColumns = 100;
constexpr std::size_t kHelpIndent = 34;  // where the sentences of --help begin

/// An option whose value is a list with commas.
template <typename Values>
CLI::Option* list(CLI::App& app, const char* flag, Values& values, const char* help) {
  return app.add_option(flag, values, help)->delimiter(',')->option_text("LIST");
}

template <typename Value>
CLI::Option* file(CLI::App& app, const char* flag, Value& value, const char* help) {
  return app.add_option(flag, value, help)->option_text("FILE");
}

/// CLI11's own validators would print the limits of the type, 300 digits long.
CLI::Validator positive_number() {
  const auto refusal = [](const std::string& typed) -> std::string {
    constexpr double kMax = 1e9;  // clocks count nanoseconds in 64 bits, 9.2e9 s
    double number = 0;
    const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
    const bool whole = error == std::errc() && end == typed.data() + typed.size();
    if (whole && number > 0 && number <= kMax) return {};
    return "found " + typed + ", expected a number above 0, up to 1e9";
  };
  return {refusal, ""};
}

CLI::Validator unsigned_integer() {
  const auto refusal = [](const std::string& typed) -> std::string {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
    if (error == std::errc() && end == typed.data() + typed.size()) return {};
    return "found " + typed + ", expected an integer from 0 to 2^64 - 1";
  };
  return {refusal, ""};
}

CLI::Validator names(std::span<const std::string_view> table) {
  return CLI::IsMember(std::vector<std::string>(table.begin(), table.end()));
}

/// An option whose value is one of `table`.
CLI::Option* choice(CLI::App& app, const char* flag, std::string& value,
                    std::span<const std::string_view> table, const char* help) {
  std::string text;
  for (const auto name : table) text += (text.empty() ? "" : "|") + std::string(name);
  return app.add_option(flag, value, help)->option_text(text)->check(names(table));
}

void declare_rows(CLI::App& app, Options& options, RawOptions& raw) {
  app.option_defaults()->group("What to run");
  list(app, "--fathom_device", raw.devices, "runs on cpu, cuda (default: the devices present)")
      ->check(names(fixtures::kDeviceNames));
  app.add_option("--fathom_gpu", options.gpu, "uses this GPU (default: CUDA's first)")
      ->option_text("INDEX|UUID");
  list(app, "--fathom_threads", options.threads,
       "sets the threads of CPU rows (default: 1, 2, 4, ... and all cores)")
      ->check(CLI::Range(1, kMaxThreads));
  list(app, "--fathom_ranks", options.ranks, "adds rows of several processes that train one model")
      ->check(CLI::Range(1, kMaxRanks));
  list(app, "--fathom_batch", options.batches,
       "sets the batch sizes of the workloads (default: each one's own)")
      ->check(CLI::Range(int64_t{1}, kMaxBatch));
  list(app, "--fathom_precision", raw.precisions,
       "sets fp32, bf16 (by autocast) or tf32 (GPU) (default: fp32)")
      ->check(names(fixtures::kPrecisionNames));
  list(app, "--fathom_backend", raw.backends,
       "backends of ops (default: all) and of steps (default: torch)");
  file(app, "--fathom_kernels", options.kernels,
       "adds rows of steps and ops on your kernels in lib<name>.so");
  file(app, "--fathom_kernel_choice", options.kernel_choice,
       "repeats the choices of tuned in an earlier <out>.kernels.json");
  list(app, "--fathom_cache", raw.caches,
       "hot: the data of ops in the caches; cold: in memory (default: hot)")
      ->check(names(kCacheNames));
  file(app, "--fathom_shapes", options.shapes, "adds rows with the op shapes of this JSON file");
  choice(app, "--fathom_study", raw.study, kStudyNames,
         "runs the rows for a report, of Fathom's workloads, TBD's or all");
  app.add_option("--fathom_explain", raw.explain,
                 "runs a step and its ops, and prints why the step takes its time")
      ->option_text("WORKLOAD/MODE");
}

void declare_conditions(CLI::App& app, Options& options, RawOptions& raw) {
  app.option_defaults()->group("How to run it");
  choice(app, "--fathom_mkl", raw.mkl, kMklNames,
         "native: MKL uses its widest vector instructions on every CPU, not only on Intel's "
         "(default: stock)");
  choice(app, "--fathom_malloc", raw.malloc, kMallocNames,
         "tuned: malloc keeps freed memory for later steps (default: stock)");
  choice(app, "--fathom_layout", raw.layout, models::kLayoutNames,
         "stores images and filters of convolutions so (default: contiguous)");
  app.add_flag("--fathom_cuda_graph", options.cuda_graph,
               "captures each step on a GPU once, then times replays");
  app.add_option("--fathom_bucket_mb", options.bucket_mb,
                 "sets the MiB of gradients that ranks reduce at once (default: 25)")
      ->option_text("N")
      ->check(positive_number());
  app.add_option("--fathom_seed", options.seed, "seeds weights, data and dropout (default: 0)")
      ->option_text("N")
      ->check(unsigned_integer());
  app.add_option("--fathom_data", raw.data,
                 "reads data sets from sub-folders of DIR (default: synthetic data)")
      ->option_text("DIR");
  choice(app, "--fathom_data_errors", raw.data_errors, kDataErrorsNames,
         "skips up to 1 % broken items or fails at the first (default: skip)");
  file(app, "--fathom_rom", raw.rom,
       "plays this Atari game; needs -DFATHOM_ALE=ON (default: built in)");
  app.add_option("--fathom_replay", options.replay,
                 "sets the frames of the replay memory in fixtures (default: 100000)")
      ->option_text("N")
      ->check(CLI::Range(kMinReplay, kMaxReplay));
}

void declare_records(CLI::App& app, Options& options) {
  app.option_defaults()->group("What to record");
  app.add_flag("--fathom_profile", options.profile, "adds a row for each op type inside a step");
  app.add_flag("--fathom_memory", options.memory,
               "adds each step's memory by class: weights, gradients, feature maps");
  file(app, "--fathom_samples", options.samples, "writes the time of every step as JSON lines");
  file(app, "--fathom_peaks", options.peaks,
       "reads the machine's peaks from an earlier --benchmark_out file");
}

void declare_robustness(CLI::App& app, Options& options, RawOptions& raw) {
  app.option_defaults()->group("Robustness");
  app.add_flag("--fathom_resume", options.resume,
               "keeps the rows in the --benchmark_out file and runs the others");
  app.add_flag("--fathom_isolate", options.isolate,
               "runs each row in its own process: a crash or a hang ends only it");
  app.add_option("--fathom_limit_seconds", options.limit_seconds,
                 "limits a row's time; implies --fathom_isolate (default: 3600)")
      ->option_text("N")
      ->check(positive_number());
  app.add_option("--fathom_limit_gb", options.limit_gb,
                 "limits a row's memory; implies --fathom_isolate (default: all free)")
      ->option_text("N")
      ->check(positive_number());
  app.add_option("--fathom_rank_seconds", options.rank_seconds,
                 "limits the wait for another rank (default: 120)")
      ->option_text("N")
      ->check(positive_number());
  choice(app, "--fathom_machine_check", raw.machine_check, kMachineCheckNames,
         "checks for what makes times unreliable: warns, exits, or skips the check (default: "
         "warn)");
}

void declare_exits(CLI::App& app, Options& options) {
  app.option_defaults()->group("Print and exit");
  app.add_flag("--fathom_models", options.models, "prints the table of workloads");
  app.add_flag("--fathom_ops", options.ops, "prints the op types and the fields of their shapes");
  app.add_option("--fathom_record", options.record,
                 "writes the op shapes of the workloads in matching rows to DIR")
      ->option_text("DIR");
}

/// Declares all --fathom_ options, in the order of --help.
void declare(CLI::App& app, Options& options, RawOptions& raw) {
  app.set_help_flag();
  declare_rows(app, options, raw);
  declare_conditions(app, options, raw);
  declare_records(app, options);
  declare_robustness(app, options, raw);
  declare_exits(app, options);
}

/// Throws UsageError for an option without its value: CLI11 would take the next argument.
void refuse_missing_values(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (const auto& argument : arguments) {
    const std::string flag = argument.substr(0, argument.find('='));
    const CLI::Option* option = app.get_option_no_throw(flag);
    if (option == nullptr || option->get_items_expected_max() == 0) continue;
    if (argument.size() <= flag.size() + 1)
      throw UsageError(std::string(flag)
                           .append(": found no value, expected ")
                           .append(flag)
                           .append("=")
                           .append(option->get_option_text()));
  }
}

/// A flag and its sentence, wrapped at kHelpColumns.
std::string help_entry(const std::string& flag, const std::string& sentence) {
  std::string line = "  " + flag;
  std::string text;
  if (line.size() + 2 > kHelpIndent) {
    text = line + '\n';
    line.clear();
  }
  line.resize(kHelpIndent, ' ');
  std::istringstream words(sentence);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (line.size() + 1 + word.size() > kHelpColumns) {
      text += line + '\n';
      line.assign(kHelpIndent, ' ');
      first = true;
    }
    line += (first ? "" : " ") + word;
  }
  return text + line + '\n';
}

std::string help_entry(const CLI::Option& option) {
  const std::string& value = option.get_option_text();
  return help_entry(option.get_name() + (value.empty() ? "" : "=" + value),
                    option.get_description());
}

}  // namespace

RawOptions read_options(std::vector<std::string> arguments, Options& options) {
  RawOptions raw;
  CLI::App app;
  declare(app, options, raw);
  refuse_missing_values(app, arguments);
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
  CLI::App app;
  declare(app, options, raw);
  std::string text =
      "Usage: fathom_bench [OPTION]...\n"
      "Times the training and inference steps of Fathom, TBD and GPT-2, and their ops one by one.\n"
      "Values with commas are lists: --fathom_threads=1,2 gives a row for each.\n"
      "\nGoogle Benchmark's most used flags:\n" +
      help_entry("--benchmark_filter=REGEX",
                 "runs the rows whose names match; -REGEX excludes them") +
      help_entry("--benchmark_out=FILE", "writes all results as JSON") +
      help_entry("--benchmark_repetitions=N", "runs each row N times (default: 1)") +
      help_entry("--benchmark_min_time=N",
                 "sets the minimum time of a repetition in seconds (default: 0.5)") +
      help_entry("--benchmark_format=FORMAT",
                 "prints console, json or csv (default: console, narrower on a tty)") +
      help_entry("--benchmark_list_tests", "prints the names of the rows and exits") +
      "  All flags: https://github.com/google/benchmark/blob/main/docs/user_guide.md\n";
  for (const auto& group : app.get_groups()) {
    text += '\n' + group + ":\n";
    for (const auto* option : app.get_options()) {
      if (option->get_group() == group) text += help_entry(*option);
    }
  }
  return text + help_entry("--help", "prints this text") +
         "\nExamples:\n"
         "  fathom_bench --benchmark_filter=vgg/train --fathom_threads=2 --fathom_profile\n"
         "  fathom_bench --benchmark_filter=^op/conv2d/vgg --benchmark_repetitions=9 "
         "--benchmark_out=a.json\n"
         "\nExit codes: 0 all rows measured, 2 wrong usage or set-up, 3 no match, 4 a row failed, "
         "5 a fault\n";
}

}  // namespace fathom::benchmarks
