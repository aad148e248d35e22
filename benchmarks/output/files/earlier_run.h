#pragma once

#include <map>
#include <set>
#include <string>

#include "benchmarks/machine/peaks.h"
#include "benchmarks/output/context/context.h"
#include "benchmarks/tasks/step_choice.h"

namespace fathom::benchmarks {

/// The results in the JSON file of an earlier run.
struct EarlierRun {
  std::string rows;                   ///< their JSON text, separated by commas; may be empty
  std::set<std::string> finished;     ///< the run_name of each
  std::map<std::string, Peak> peaks;  ///< that they were compared with
};

/// Reads the file; empty where there is none. Throws UsageError for a file that this run cannot
/// continue: another program's, or one whose machine, build or settings (context_field()) differ
/// from those of `context` and of Google Benchmark.
EarlierRun read_earlier_run(const std::string& path, const ContextEntries& context);

/// The choices of finished rows in a <out>.kernels.json file; none where there is no such file.
/// Throws UsageError for another file.
StepChoices finished_choices(const std::string& path, const EarlierRun& earlier);

/// Removes the lines of unfinished rows from a --fathom_samples file, if there is one.
void keep_finished_samples(const std::string& path, const EarlierRun& earlier);

}  // namespace fathom::benchmarks
