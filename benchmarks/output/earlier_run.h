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

/// Reads the file; empty where there is none. Throws UsageError for a file that this run cannot go
/// on with: it is no run of this program, or its context differs from `context` (without peaks).
EarlierRun read_earlier_run(const std::string& path, const ContextEntries& context);

/// Drops the lines of rows that did not finish from a --fathom_samples file, if there is one.
void keep_finished_samples(const std::string& path, const EarlierRun& earlier);

}  // namespace fathom::benchmarks
