// The options for what is recorded, for robustness, and those that print and exit.
#include "benchmarks/options/option_value.h"
#include "fixtures/machine/memory.h"

namespace fathom::benchmarks {
namespace {

using enum ContextField;
using enum OptionRules::OwnProcess;

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

OptionGroup recording_options() {
  return {"What to record",
          {{"--fathom_profile",
            "adds a row for each op type inside a step",
            flag(&Recording::profile),
            {.context = {"fathom_profile", kRun}, .own_process = kNothing}},
           {"--fathom_memory",
            "adds each step's memory by class: weights, gradients, feature maps",
            flag(&Recording::memory),
            {.context = {"fathom_memory", kRun}, .own_process = kNothing}},
           {"--fathom_samples",
            "writes the time of every step as JSON lines",
            value("FILE", &Recording::samples),
            {.file = OptionRules::File::kOutput,
             .context = {"fathom_samples", kRun, keeps_samples},
             .own_process = kNothing}},
           {"--fathom_peaks",
            "reads the machine's peaks from an earlier --benchmark_out file",
            value("FILE", &Options::peaks),
            {.file = OptionRules::File::kInput, .own_process = kNothing}},
           {"--fathom_machine_name",
            "names this machine: files with other names are of other machines",
            value("NAME", &Options::machine_name, printable()),
            {.context = {"machine_name", kMachine}}}}};
}

OptionGroup robustness_options() {
  const std::vector<Exclusion> in_one_process{
      {"--fathom_explain", "which profiles a step and its ops in one process"},
      {"--fathom_record", "which measures nothing"}};
  return {
      "Robustness",
      {{"--fathom_resume",
        "keeps the rows in the --benchmark_out file and runs the others",
        flag(&Options::resume),
        {.refusal = refused_without_out, .own_process = kNothing}},
       {"--fathom_isolate",
        "runs each row in its own process: a crash or a hang ends only it",
        flag(&Options::isolate),
        {.excludes = in_one_process, .refusal = refused_isolate, .own_process = kNothing}},
       {"--fathom_limit_seconds",
        "limits a row's time; implies --fathom_isolate (default: 3600)",
        value("N", &Options::limit_seconds, positive_number()),
        {.excludes = in_one_process, .imply = isolate, .own_process = kNothing}},
       {"--fathom_limit_gb",
        "limits a row's memory; implies --fathom_isolate (default: all free)",
        value("N", &Options::limit_gb, positive_number()),
        {.excludes = in_one_process, .imply = limit_memory}},
       {"--fathom_rank_seconds",
        "limits the wait for another rank (default: 120)",
        value("N", &Options::rank_seconds, positive_number()),
        {.refusal = refused_without_ranks, .own_process = kOfRanks}},
       {"--fathom_machine_check",
        "checks for what makes times unreliable: warns, exits, or skips the check (default: warn)",
        choice<MachineCheck>(&Options::machine_check, kMachineCheckNames),
        {.own_process = kNothing}}}};
}

OptionGroup exit_options() {
  return {
      "Print and exit",
      {{"--fathom_models", "prints the table of workloads", flag(&Options::models)},
       {"--fathom_ops", "prints the op types and the fields of their shapes", flag(&Options::ops)},
       {"--fathom_record", "writes the op shapes of the workloads in matching rows to DIR",
        value("DIR", &Options::record)}}};
}

}  // namespace fathom::benchmarks
