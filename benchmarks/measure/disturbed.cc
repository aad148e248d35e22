#include "benchmarks/measure/disturbed.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

namespace fathom::benchmarks {
namespace {

/// The threads in the name of a row.
double threads_of(const std::string& name) {
  constexpr std::string_view kToken = "/threads:";
  const std::size_t at = name.find(kToken);
  return at == std::string::npos ? 1 : std::max(1, std::atoi(name.c_str() + at + kToken.size()));
}

}  // namespace

bool is_disturbed(const benchmark::BenchmarkReporter::Run& run) {
  constexpr double kShare = 0.05;
  const bool spread = run.aggregate_name == "stddev" || run.aggregate_name == "cv";
  if (spread || run.iterations <= 0) return false;
  const auto counter = [&](const char* name) {
    const auto found = run.counters.find(name);
    return found == run.counters.end() ? 0 : found->second.value;
  };
  const auto iterations = static_cast<double>(run.iterations);
  const double us = run.real_accumulated_time / iterations * 1e6;
  const double taken =
      (counter("stolen_us") + counter("waiting_us")) / threads_of(run.run_name.function_name);
  const bool measured = run.run_type == benchmark::BenchmarkReporter::Run::RT_Iteration;
  return taken + counter("standstill_us") > kShare * us ||
         (measured && counter("disturbed_steps") >= iterations / 2);
}

}  // namespace fathom::benchmarks
