#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/measure/row_result.h"

namespace fathom::benchmarks {

// The JSON that is read and written here, except Google Benchmark's own. Lines end with '\n'.
// Everywhere, U+FFFD replaces bytes that are not UTF-8.

/// `text` with U+FFFD for each part that is not UTF-8.
std::string utf8(const std::string& text);

/// JSON that Google Benchmark has written, made strict: it takes over bytes that are not UTF-8, and
/// control characters. Its `library_build_type`, which readers take for that of the program,
/// becomes the program's, and Google Benchmark's own follows as `google_benchmark_build_type`.
std::string strict_json(const std::string& text);

/// A line of --fathom_samples: the time of one step in microseconds.
std::string sample_line(const std::string& name, std::size_t repetition, std::size_t step,
                        double us);
/// The name in a line of --fathom_samples; empty for other text.
std::string name_in_sample(const std::string& line);

/// A line of <out>.errors.jsonl: why a run has no measurement.
std::string failure_line(const std::string& name, int64_t repetition, const std::string& reason);
/// What such a line says; nothing for other text.
std::optional<Failure> failure_in_line(const std::string& line);

/// {"context": {...}}
std::string context_json(const std::map<std::string, std::string>& context);
/// The fields in the context of a --benchmark_out file, those that are no strings as JSON; empty
/// for other files.
std::map<std::string, std::string> context_in_file(const std::string& path);

/// What Google Benchmark writes into a context of its own accord, in the same form.
std::map<std::string, std::string> google_benchmark_context();

/// The runs of a --benchmark_out file, as Google Benchmark reported them; `family` numbers their
/// benchmark. Throws std::exception for other files.
std::vector<benchmark::BenchmarkReporter::Run> runs_in_file(const std::string& path,
                                                            int64_t family);

/// The parts of a --benchmark_out file that --fathom_resume compares.
struct FinishedRun {
  std::map<std::string, std::string> context;  ///< fields that are no strings as JSON
  std::vector<std::string> run_names;          ///< of all rows
};

/// Reads the text of a --benchmark_out file. Throws std::runtime_error for other text.
FinishedRun finished_run(const std::string& text);

}  // namespace fathom::benchmarks
