#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/machine/peaks.h"
#include "benchmarks/options/options.h"
#include "benchmarks/options/preset.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// Takes --fathom_study, which runs the rows that the figures of results/report need. Throws
/// UsageError.
void settle_study(const std::string& typed, const Given& given, Options& options);

/// The rows of options.study, each once. Throws as make_rows does.
std::vector<Row> study_rows(const Options& options);

/// What each row will take, its building and checking included, as far as its arithmetic and
/// traffic tell. Measures the peaks that the rows are set beside.
std::map<std::string, double> expected_seconds(const std::vector<Row>& rows, Peaks& peaks);

}  // namespace fathom::benchmarks
