#pragma once

#include <set>
#include <string>

#include "benchmarks/output/context.h"

namespace fathom::benchmarks {

/// What an earlier run left in its JSON file.
struct EarlierRun {
  std::string rows;                ///< as they stand there, with commas between them; may be empty
  std::set<std::string> finished;  ///< their run_name
};

/// Reads it; empty where there is no file. Throws UsageError where the file cannot be gone on with:
/// it is no run of this program, or `context` (without peaks) says of this run what it does not
/// say.
EarlierRun read_earlier_run(const std::string& path, const ContextEntries& context);

/// Drops the lines of rows that did not finish from a --fathom_samples file, if there is one.
void keep_finished_samples(const std::string& path, const EarlierRun& earlier);

}  // namespace fathom::benchmarks
