#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/machine/peaks.h"
#include "benchmarks/options/options.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// Sets what --fathom_study implies: a samples file, a short time for each row. Does nothing
/// without it. Throws UsageError for an option that cannot stand beside it.
void resolve_study(Options& options);

/// The rows of options.study, each once. Throws as make_rows does.
std::vector<Row> study_rows(const Options& options);

/// An estimate of the seconds that each row takes, with building and checking, from its FLOPs and
/// bytes. Measures the peaks that the estimate needs.
std::map<std::string, double> expected_seconds(const std::vector<Row>& rows, Peaks& peaks);

}  // namespace fathom::benchmarks
