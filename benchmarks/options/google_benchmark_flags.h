#pragma once

#include <string>
#include <vector>

namespace fathom::benchmarks {

/// The value that Google Benchmark uses for one of its flags: the last one in `arguments`, else
/// that of the environment (BENCHMARK_OUT for --benchmark_out), else `fallback`. Google Benchmark
/// has no function for it.
std::string google_benchmark_value(const std::vector<std::string>& arguments,
                                   const std::string& flag, const std::string& fallback);

/// Whether the program only prints the names of the rows (--benchmark_list_tests).
bool lists_tests(const std::vector<std::string>& arguments);

/// Whether the display shows only aggregates of repetitions (--benchmark_display_aggregates_only).
bool displays_aggregates_only(const std::vector<std::string>& arguments);

/// Whether results on a terminal have colors: --benchmark_color, else not with NO_COLOR
/// (https://no-color.org) or on a terminal without them.
bool uses_colors(const std::vector<std::string>& arguments);

/// How often each row is measured (--benchmark_repetitions).
int repetitions(const std::vector<std::string>& arguments);

/// Throws UsageError for values of which Google Benchmark does not say what is wrong.
void check_google_benchmark_values(const std::vector<std::string>& arguments);

/// Writes --benchmark_min_time in the form that this Google Benchmark takes: "2s", or "2"
/// for 1.7.1.
void write_min_time(std::vector<std::string>& arguments);

/// Every flag of Google Benchmark 1.7.1.
const std::vector<std::string>& google_benchmark_flags();

}  // namespace fathom::benchmarks
