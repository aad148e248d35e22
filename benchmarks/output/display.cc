#include "benchmarks/output/display.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <string_view>

namespace fathom::benchmarks {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

/// Counters for which a terminal has room; the JSON holds every counter.
constexpr std::array<std::string_view, 6> kConsoleCounters{"items_per_second", "flops",
                                                           "flops_pct_peak",   "bytes_pct_peak",
                                                           "calls_per_step",   "pct_of_step"};

bool is_aggregate(const Run& run) { return run.run_type == Run::RT_Aggregate; }

}  // namespace

Display::Display(const Options& options, Progress& progress)
    : google_benchmarks_(*benchmark::CreateDefaultDisplayReporter()),
      options_(options),
      progress_(progress) {}

void Display::begin(const Context& context) {
  progress_.wipe();
  google_benchmarks_.ReportContext(context);
}

void Display::add(const RowResult& result) {
  progress_.finished(result.row->name);
  for (const auto& run : result.failures) {
    ++failures_;
    std::cerr << run.benchmark_name() << ": failed: " << failure(run) << '\n';
  }
  std::vector<Run> shown = result.runs;
  if (options_.display_aggregates_only && std::any_of(shown.begin(), shown.end(), is_aggregate)) {
    std::erase_if(shown, std::not_fn(is_aggregate));
  }
  if (options_.console) {
    for (auto& run : shown) {
      std::erase_if(run.counters, [](const auto& counter) {
        return std::find(kConsoleCounters.begin(), kConsoleCounters.end(), counter.first) ==
               kConsoleCounters.end();
      });
    }
  }
  if (!shown.empty()) google_benchmarks_.ReportRuns(shown);
}

}  // namespace fathom::benchmarks
