#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/machine/peaks.h"
#include "benchmarks/options/options.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// Sets what --fathom_study implies: a samples file and a short time for each row. Throws
/// UsageError for an option that it excludes. Does nothing without --fathom_study.
void resolve_study(Options& options);

/// The rows of options.study, each once. Throws as make_rows does.
std::vector<Row> study_rows(const Options& options);

/// Estimates the seconds that each row takes, set-up and check included, from its FLOPs and bytes.
/// Uses the peaks that are known; a row without one counts as a second.
std::map<std::string, double> expected_seconds(const std::vector<Row>& rows, int repetitions,
                                               const Peaks& peaks);

}  // namespace fathom::benchmarks
