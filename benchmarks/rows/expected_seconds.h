#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/machine/peaks.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// Estimates the seconds that each row takes, set-up and check included, from its FLOPs and bytes.
/// Uses the peaks that are known; a row without one counts as a second.
std::map<std::string, double> expected_seconds(const std::vector<Row>& rows, int repetitions,
                                               const Peaks& peaks);

}  // namespace fathom::benchmarks
