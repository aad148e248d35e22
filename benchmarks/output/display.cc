#include "benchmarks/output/display.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>

#include "benchmarks/error.h"
#include "benchmarks/measure/disturbed.h"
#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/option.h"
#include "benchmarks/output/files/json.h"
#include "benchmarks/output/terminal/context_summary.h"
#include "benchmarks/output/terminal/terminal.h"
#include "fixtures/files/text.h"

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
  return isatty(STDOUT_FILENO) == 1 && !is_given("--benchmark_format", options) &&
         !is_given("--benchmark_counters_tabular", options);
}

}  // namespace

Display::Display(const Options& options, const std::vector<Row>& rows, Progress& progress)
    : google_benchmarks_(*benchmark::CreateDefaultDisplayReporter()),
      options_(options),
      progress_(progress) {
  google_benchmarks_.SetOutputStream(&text_);
  google_benchmarks_.SetErrorStream(&messages_);
  if (!prints_table(options)) return;
  columns_ = std::clamp(terminal_columns(STDOUT_FILENO, kMaxColumns), kMinColumns, kMaxColumns);
  table_.emplace(rows, columns_, uses_colors(options.google_benchmark));
}

void Display::begin(const Context& context) {
  progress_.wipe();
  if (!table_) {
    google_benchmarks_.ReportContext(context);
    pass_on();
    return;
  }
  for (const auto& line : context_summary(added_context(), columns_)) std::cerr << line << '\n';
}

void Display::add(const RowResult& result) {
  progress_.finished(result.row->name);
  if (result.left_out) left_out_[result.row->backend].push_back(result.row);
  if (!result.runs.empty()) ++measured_;
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

void Display::end() {
  progress_.wipe();
  print_left_out();
  if (has_marks_) std::cout << TerminalTable::kMarkMeans << std::flush;
  google_benchmarks_.Finalize();
  pass_on();
}

int Display::exit_code() const {
  if (failures_ > 0) return kBenchmarkFailed;
  return measured_ == 0 && !left_out_.empty() ? kNothingMatched : kOk;
}

void Display::print_left_out() const {
  for (const auto& [backend, rows] : left_out_) {
    std::cerr << "fathom_bench: left out " << fixtures::counted(std::ssize(rows), "row")
              << " in which backend:" << backend << " replaces nothing (" << rows.front()->name
              << "); --fathom_keep_unreplaced times such rows\n";
  }
}

void Display::print(std::vector<Run> runs) {
  if (table_) {
    has_marks_ = has_marks_ || std::any_of(runs.begin(), runs.end(), is_disturbed);
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
