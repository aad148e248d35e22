#include "benchmarks/options/google_benchmark_flags.h"

#include <cstdlib>

namespace fathom::benchmarks {
namespace {

/// The value of `--flag=value` or `--flag`; null where `argument` is another one.
const char* flag_value(const std::string& argument, const std::string& flag) {
  if (argument.rfind(flag, 0) != 0) return nullptr;
  if (argument.size() == flag.size()) return "";
  return argument[flag.size()] == '=' ? argument.c_str() + flag.size() + 1 : nullptr;
}

}  // namespace

std::string google_benchmark_value(const std::vector<std::string>& arguments,
                                   const std::string& flag, const char* variable,
                                   const std::string& fallback) {
  const char* from_environment = std::getenv(variable);
  std::string value = from_environment != nullptr ? from_environment : fallback;
  for (const auto& argument : arguments) {
    if (const char* found = flag_value(argument, flag)) value = found;
  }
  return value;
}

bool lists_tests(const std::vector<std::string>& arguments) {
  const auto value =
      google_benchmark_value(arguments, "--benchmark_list_tests", "BENCHMARK_LIST_TESTS", "false");
  return value != "false" && value != "0";
}

const std::vector<std::string>& google_benchmark_flags() {
  static const std::vector<std::string> flags{"--benchmark_list_tests",
                                              "--benchmark_filter",
                                              "--benchmark_min_time",
                                              "--benchmark_min_warmup_time",
                                              "--benchmark_repetitions",
                                              "--benchmark_enable_random_interleaving",
                                              "--benchmark_report_aggregates_only",
                                              "--benchmark_display_aggregates_only",
                                              "--benchmark_format",
                                              "--benchmark_out",
                                              "--benchmark_out_format",
                                              "--benchmark_color",
                                              "--benchmark_counters_tabular",
                                              "--benchmark_context",
                                              "--benchmark_perf_counters",
                                              "--benchmark_time_unit"};
  return flags;
}

}  // namespace fathom::benchmarks
