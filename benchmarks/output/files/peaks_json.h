#pragma once

#include <map>
#include <string>
#include <vector>

#include "benchmarks/machine/peaks.h"
#include "benchmarks/output/context/context.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// "118.2 GFLOP/s, oneDNN GEMM, 3 tries within 1.4 %", or the same with GB/s. Without tries where
/// this process did not measure the peak: they are part of its `from`.
std::string peak_text(const Peak& peak, bool flops);

/// Context entries for the peaks that `rows` are compared with. Measures those that are not known.
ContextEntries peak_context(const std::vector<Row>& rows, Peaks& peaks);

/// A line for each two-thread peak of `rows` that this process measured and that is too low beside
/// the peak of one thread, if that is known.
std::vector<std::string> peak_doubts(const std::vector<Row>& rows, const Peaks& peaks);

/// The peaks in the context of a --benchmark_out file, by their keys.
std::map<std::string, Peak> peaks_in(const std::map<std::string, std::string>& context);

/// The same of a file (--fathom_peaks). Throws UsageError for a file without any, and for one of
/// another machine than `here`, this run's context.
std::map<std::string, Peak> read_peaks(const std::string& path, const ContextEntries& here);

/// A file for read_peaks(). Throws std::runtime_error with the reason.
void write_peaks(const std::string& path, const ContextEntries& context);

}  // namespace fathom::benchmarks
