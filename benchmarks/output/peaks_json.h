#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/machine/peaks.h"
#include "benchmarks/output/context.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// The peaks that shares of `rows` refer to, as the context tells them: "118.2 GFLOP/s, oneDNN
/// GEMM". Measures those that are not known.
ContextEntries peak_context(const std::vector<Row>& rows, Peaks& peaks);

/// The peaks that the context of a --benchmark_out file tells, by their names there
/// (--fathom_peaks). Throws UsageError for a file without any.
std::map<std::string, Peak> read_peaks(const std::string& path);

/// A file for read_peaks(). Throws std::runtime_error with the reason.
void write_peaks(const std::string& path, const ContextEntries& context);

}  // namespace fathom::benchmarks
