#include "benchmarks/options/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "benchmarks/error.h"
#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/help.h"
#include "benchmarks/options/option.h"

namespace fathom::benchmarks {
namespace {

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

/// Throws UsageError for an option without its value: CLI11 would take the next argument.
void refuse_missing_value(const std::string& argument) {
  const std::string flag = argument.substr(0, argument.find('='));
  if (argument.size() > flag.size() + 1) return;
  const auto& table = option_table();
  const auto option =
      std::find_if(table.begin(), table.end(), [&](const Option& one) { return one.flag == flag; });
  if (option == table.end() || option->value.text.empty()) return;
  throw UsageError(flag + ": found no value, expected " + flag + "=" + option->value.text);
}

/// Reads our arguments into the fields of their options.
void read(std::vector<std::string> arguments, Options& options) {
  for (const auto& argument : arguments) refuse_missing_value(argument);
  CLI::App app;
  app.set_help_flag();
  // CLI11 reads them in this order, and --fathom_backend may be the library of --fathom_kernels,
  // which the table has after it.
  const auto& table = option_table();
  std::for_each(table.rbegin(), table.rend(),
                [&](const Option& option) { option.value.declare(app, option.flag, options); });
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::ExtrasError&) {
    refuse_argument(arguments.back());
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
}

/// Takes over the flags of the display and of JSON files: Display and JsonFile write both. Google
/// Benchmark writes files in other formats itself.
void take_outputs(Options& options) {
  auto& arguments = options.google_benchmark;
  check_google_benchmark_values(arguments);
  const std::string display = google_benchmark_value(arguments, "--benchmark_format", "console");
  options.console = display == "console";
  options.json = display == "json";
  options.display_aggregates_only = displays_aggregates_only(arguments);
  const std::string out = google_benchmark_value(arguments, "--benchmark_out", "");
  const std::string format = google_benchmark_value(arguments, "--benchmark_out_format", "json");
  if (format == "json" || out.empty()) {
    options.out = out;
    arguments.emplace_back("--benchmark_out=");
  } else if (!options.recording.samples.empty()) {
    throw UsageError("--benchmark_out_format=" + format + ": with --fathom_samples expected json");
  }
  if (options.display_aggregates_only) {
    arguments.emplace_back("--benchmark_display_aggregates_only=false");
  }
}

/// Forgets a launcher that started one process, as srun does for a shell, where the options ask for
/// more ranks or exclude them.
void forget_lone_launcher(const Option& ranks, Options& options) {
  Axes& axes = options.axes;
  if (!axes.place || axes.place->size > 1) return;
  const bool more = std::any_of(axes.ranks.begin(), axes.ranks.end(), [](int n) { return n > 1; });
  const bool none =
      std::any_of(ranks.rules.excludes.begin(), ranks.rules.excludes.end(),
                  [&](const Exclusion& other) { return is_given(other.flag, options); });
  if (more || none || options.isolate) axes.place.reset();
}

/// What a message calls an option: a choice with its value, because its default excludes nothing.
std::string subject(const Option& option, const Options& options) {
  if (option.is_ranks() && !options.was_typed(option.flag))
    return "ranks of " + options.axes.place->launcher;
  const bool has_default =
      option.value.kind == OptionValue::Kind::kChoice && !option.value.words(Options())[0].empty();
  return option.flag + (has_default ? '=' + option.value.words(options)[0] : "");
}

/// Throws UsageError where an option that has an effect excludes another one.
void refuse_excluded(const Option& option, const Options& options) {
  // What another option implies is excluded by that one.
  const bool implied = !option.is_ranks() && !options.was_typed(option.flag);
  if (implied || !has_effect(option, options)) return;
  const auto& others = option.rules.excludes;
  const auto other = std::find_if(others.begin(), others.end(), [&](const Exclusion& one) {
    return is_given(one.flag, options);
  });
  if (other == others.end()) return;
  throw UsageError(subject(option, options) + ": not together with " + other->flag + ", " +
                   other->why);
}

}  // namespace

bool Options::was_typed(std::string_view flag) const {
  return std::any_of(typed.begin(), typed.end(), [&](const std::string& argument) {
    return argument.substr(0, argument.find('=')) == flag;
  });
}

Options parse_options(int argc, char** argv, const std::optional<fixtures::Place>& place) {
  Options options;
  options.axes.place = place;
  read(take_arguments(argc, argv, options), options);
  take_outputs(options);
  for (const auto& option : option_table()) {
    if (option.rules.imply != nullptr && has_effect(option, options)) option.rules.imply(options);
  }
  for (const auto& option : option_table()) {
    if (option.is_ranks()) forget_lone_launcher(option, options);
  }
  for (const auto& option : option_table()) refuse_excluded(option, options);
  return options;
}

}  // namespace fathom::benchmarks
