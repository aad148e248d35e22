// The options for what is recorded, for robustness, and those that print and exit.
#include <cctype>

#include "benchmarks/options/option_value.h"
#include "fixtures/machine/memory.h"

namespace fathom::benchmarks {
namespace {

CLI::Validator printable() {
  const auto refusal = [](const std::string& typed) -> std::string {
    constexpr std::size_t kMax = 64;
    const bool fits = typed.size() <= kMax && std::none_of(typed.begin(), typed.end(), [](char c) {
                        return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
                      });
    return fits ? "" : "expected at most 64 bytes, without control characters";
  };
  return {refusal, ""};
}

std::string keeps_samples(const Options& options) {
  return options.recording.samples.empty() ? "off" : "on";
}

std::string refused_resume(const Options& options) {
  return options.out.empty() ? ": needs --benchmark_out=FILE, in JSON" : "";
}

std::string refused_isolate(const Options& options) {
  if (!options.axes.place) return {};
  const std::string& launcher = options.axes.place->launcher;
  return ": does not start processes on the hosts of " + launcher +
         "; leave it out, or use --fathom_ranks without " + launcher;
}

/// The process of a row gets --fathom_isolate=false and the limit of its memory.
void isolate(Options& options) {
  if (!options.was_typed("--fathom_isolate")) options.isolate = true;
}

void limit_memory(Options& options) {
  isolate(options);
  fixtures::limit_memory(*options.limit_gb * 1e9);
}

}  // namespace

std::vector<Option> other_options() {
  constexpr auto kRecording = OptionGroup::kRecording;
  constexpr auto kRobustness = OptionGroup::kRobustness;
  constexpr auto kExit = OptionGroup::kExit;
  constexpr auto kNothing = OwnProcess::kNothing;
  const std::vector<Exclusion> in_one_process{
      {"--fathom_explain", "which profiles a step and its ops in one process"},
      {"--fathom_record", "which measures nothing"}};
  return {
      {.flag = "--fathom_profile",
       .group = kRecording,
       .help = "adds a row for each op type inside a step",
       .value = flag([](auto& options) -> auto& { return options.recording.profile; }),
       .context = {"fathom_profile", ContextField::kRun},
       .own_process = kNothing},
      {.flag = "--fathom_memory",
       .group = kRecording,
       .help = "adds each step's memory by class: weights, gradients, feature maps",
       .value = flag([](auto& options) -> auto& { return options.recording.memory; }),
       .context = {"fathom_memory", ContextField::kRun},
       .own_process = kNothing},
      {.flag = "--fathom_samples",
       .group = kRecording,
       .help = "writes the time of every step as JSON lines",
       .value = file([](auto& options) -> auto& { return options.recording.samples; }),
       .file = OptionFile::kOutput,
       .context = {"fathom_samples", ContextField::kRun, keeps_samples},
       .own_process = kNothing},
      {.flag = "--fathom_peaks",
       .group = kRecording,
       .help = "reads the machine's peaks from an earlier --benchmark_out file",
       .value = file([](auto& options) -> auto& { return options.peaks; }),
       .file = OptionFile::kInput,
       .own_process = kNothing},
      {.flag = "--fathom_machine_name",
       .group = kRecording,
       .help = "names this machine: files with other names are of other machines",
       .value = string(
           [](auto& options) -> auto& { return options.machine_name; }, "NAME", printable()),
       .context = {"machine_name", ContextField::kMachine}},
      {.flag = "--fathom_resume",
       .group = kRobustness,
       .help = "keeps the rows in the --benchmark_out file and runs the others",
       .value = flag([](auto& options) -> auto& { return options.resume; }),
       .refusal = refused_resume,
       .own_process = kNothing},
      {.flag = "--fathom_isolate",
       .group = kRobustness,
       .help = "runs each row in its own process: a crash or a hang ends only it",
       .value = flag([](auto& options) -> auto& { return options.isolate; }),
       .excludes = in_one_process,
       .refusal = refused_isolate,
       .own_process = kNothing},
      {.flag = "--fathom_limit_seconds",
       .group = kRobustness,
       .help = "limits a row's time; implies --fathom_isolate",
       .fallback = "3600",
       .value = number(
           [](auto& options) -> auto& { return options.limit_seconds; }, positive_number()),
       .excludes = in_one_process,
       .imply = isolate,
       .own_process = kNothing},
      {.flag = "--fathom_limit_gb",
       .group = kRobustness,
       .help = "limits a row's memory; implies --fathom_isolate",
       .fallback = "all free",
       .value = number(
           [](auto& options) -> auto& { return options.limit_gb; }, positive_number()),
       .excludes = in_one_process,
       .imply = limit_memory},
      {.flag = "--fathom_rank_seconds",
       .group = kRobustness,
       .help = "limits the wait for another rank",
       .fallback = "120",
       .value = number(
           [](auto& options) -> auto& { return options.rank_seconds; }, positive_number()),
       .refusal = refused_without_ranks,
       .own_process = OwnProcess::kOfRanks},
      {.flag = "--fathom_machine_check",
       .group = kRobustness,
       .help = "checks for what makes times unreliable: warns, exits, or skips the check",
       .fallback = "warn",
       .value = choice(
           [](auto& options) -> auto& { return options.machine_check; }, kMachineCheckNames),
       .own_process = kNothing},
      {.flag = "--fathom_models",
       .group = kExit,
       .help = "prints the table of workloads",
       .value = flag([](auto& options) -> auto& { return options.models; })},
      {.flag = "--fathom_ops",
       .group = kExit,
       .help = "prints the op types and the fields of their shapes",
       .value = flag([](auto& options) -> auto& { return options.ops; })},
      {.flag = "--fathom_record",
       .group = kExit,
       .help = "writes the op shapes of the workloads in matching rows to DIR",
       .value = string(
           [](auto& options) -> auto& { return options.record; }, "DIR")},
  };
}

}  // namespace fathom::benchmarks
