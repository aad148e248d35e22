#include "benchmarks/output/display.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>

#include "benchmarks/output/op_type_rows.h"

namespace fathom::benchmarks {
namespace {

/// What a terminal has room for; the JSON holds every counter.
constexpr std::array<std::string_view, 6> kConsoleCounters{"items_per_second", "flops",
                                                           "flops_pct_peak",   "bytes_pct_peak",
                                                           "calls_per_step",   "pct_of_step"};

}  // namespace

Display::Display(bool console, const Loop& loop, Progress& progress,
                 std::function<void()> before_context)
    : google_benchmarks_(*benchmark::CreateDefaultDisplayReporter()),
      console_(console),
      loop_(loop),
      progress_(progress),
      before_context_(std::move(before_context)) {}

bool Display::ReportContext(const Context& context) {
  before_context_();
  progress_.wipe();
  return google_benchmarks_.ReportContext(context);
}

void Display::ReportRuns(const std::vector<Run>& runs) {
  progress_.finished(runs.front().run_name.function_name);
  for (const auto& run : runs) {
    if (!failed(run)) continue;
    ++failures_;
    std::cerr << run.benchmark_name() << ": failed: " << failure(run) << '\n';
  }
  std::vector<Run> shown = with_op_rows(measured(runs), loop_);
  if (console_) {
    for (auto& run : shown) {
      std::erase_if(run.counters, [](const auto& counter) {
        return std::find(kConsoleCounters.begin(), kConsoleCounters.end(), counter.first) ==
               kConsoleCounters.end();
      });
    }
  }
  if (!shown.empty()) google_benchmarks_.ReportRuns(shown);
}

void Display::Finalize() { google_benchmarks_.Finalize(); }

std::vector<benchmark::BenchmarkReporter::Run> measured(
    const std::vector<benchmark::BenchmarkReporter::Run>& runs) {
  std::vector<benchmark::BenchmarkReporter::Run> kept;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(kept),
               [](const auto& run) { return !failed(run); });
  for (auto& run : kept) {
    std::erase_if(run.counters,
                  [](const auto& counter) { return !std::isfinite(counter.second.value); });
    for (auto& [name, counter] : run.counters) {
      if (name.ends_with("_pct_peak")) counter.flags = benchmark::Counter::kDefaults;
    }
  }
  return kept;
}

}  // namespace fathom::benchmarks
