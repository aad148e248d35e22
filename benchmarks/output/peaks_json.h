#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/machine/peaks.h"
#include "benchmarks/output/context.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// Context entries for the peaks that `rows` are compared with: "118.2 GFLOP/s, oneDNN GEMM".
/// Measures those that are not known.
ContextEntries peak_context(const std::vector<Row>& rows, Peaks& peaks);

/// The peaks in the context of a --benchmark_out file, by their keys (--fathom_peaks). Throws
/// UsageError for a file without any.
std::map<std::string, Peak> read_peaks(const std::string& path);

/// A file for read_peaks(). Throws std::runtime_error with the reason.
void write_peaks(const std::string& path, const ContextEntries& context);

}  // namespace fathom::benchmarks
