#include "benchmarks/output/display.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>

#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/preset.h"
#include "benchmarks/output/json.h"
#include "benchmarks/output/terminal/terminal.h"

namespace fathom::benchmarks {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

/// The counters that Google Benchmark's console shows; the JSON holds every counter.
constexpr std::array<std::string_view, 6> kConsoleCounters{"items_per_second", "flops",
                                                           "flops_pct_peak",   "bytes_pct_peak",
                                                           "calls_per_step",   "pct_of_step"};

constexpr std::size_t kMinColumns = 80;
constexpr std::size_t kMaxColumns = 120;

bool is_aggregate(const Run& run) { return run.run_type == Run::RT_Aggregate; }

bool prints_table(const Options& options) {
  return isatty(STDOUT_FILENO) == 1 &&
         !google_benchmark_has(options, "--benchmark_format", "BENCHMARK_FORMAT") &&
         !google_benchmark_has(options, "--benchmark_counters_tabular",
                               "BENCHMARK_COUNTERS_TABULAR");
}

}  // namespace

Display::Display(const Options& options, const std::vector<Row>& rows, Progress& progress)
    : google_benchmarks_(*benchmark::CreateDefaultDisplayReporter()),
      options_(options),
      progress_(progress) {
  google_benchmarks_.SetOutputStream(&text_);
  google_benchmarks_.SetErrorStream(&messages_);
  if (!prints_table(options)) return;
  const std::size_t columns = terminal_columns(STDOUT_FILENO, kMaxColumns);
  table_.emplace(rows, std::clamp(columns, kMinColumns, kMaxColumns),
                 uses_colors(options.google_benchmark));
}

void Display::begin(const Context& context) {
  progress_.wipe();
  google_benchmarks_.ReportContext(context);
  pass_on();
}

void Display::add(const RowResult& result) {
  progress_.finished(result.row->name);
  if (const auto& run = result.failure) {
    ++failures_;
    std::cerr << run->benchmark_name() << ": failed: " << failure(*run) << '\n';
  }
  std::vector<Run> shown = result.runs;
  if (options_.display_aggregates_only && std::any_of(shown.begin(), shown.end(), is_aggregate)) {
    std::erase_if(shown, std::not_fn(is_aggregate));
  }
  if (!shown.empty()) print(std::move(shown));
}

void Display::print(std::vector<Run> runs) {
  if (table_) {
    if (!has_header_) std::cout << table_->header();
    has_header_ = true;
    std::cout << table_->lines(runs) << std::flush;
    return;
  }
  if (options_.console) {
    for (auto& run : runs) {
      std::erase_if(run.counters, [](const auto& counter) {
        return std::find(kConsoleCounters.begin(), kConsoleCounters.end(), counter.first) ==
               kConsoleCounters.end();
      });
    }
  }
  google_benchmarks_.ReportRuns(runs);
  pass_on();
}

void Display::end() {
  google_benchmarks_.Finalize();
  pass_on();
}

void Display::pass_on() {
  std::istringstream lines(messages_.str());
  for (std::string line; std::getline(lines, line);) {
    // Debian's library is one. Its timed loop is in a header, which is compiled with this program.
    if (line.find("Library was built as DEBUG") == std::string::npos) std::cerr << line << '\n';
  }
  std::cout << (options_.json ? strict_json(text_.str()) : text_.str()) << std::flush;
  messages_.str({});
  text_.str({});
}

}  // namespace fathom::benchmarks
