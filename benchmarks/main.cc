#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "benchmarks/error.h"
#include "benchmarks/explain/explain_json.h"
#include "benchmarks/explain/explain_options.h"
#include "benchmarks/explain/explain_text.h"
#include "benchmarks/explain/explainer.h"
#include "benchmarks/google_benchmark.h"
#include "benchmarks/isolate/isolation.h"
#include "benchmarks/machine/machine.h"
#include "benchmarks/measure/loop.h"
#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/nearest.h"
#include "benchmarks/options/options.h"
#include "benchmarks/output/context.h"
#include "benchmarks/output/display.h"
#include "benchmarks/output/json_file.h"
#include "benchmarks/output/output_files.h"
#include "benchmarks/output/peaks_json.h"
#include "benchmarks/output/progress.h"
#include "benchmarks/output/reporter.h"
#include "benchmarks/rows/record_shapes.h"
#include "benchmarks/rows/rows.h"
#include "benchmarks/rows/study.h"
#include "models/table.h"
#include "ops/types/table.h"

namespace fathom::benchmarks {
namespace {

enum ExitCode { kOk = 0, kUsage = 2, kNothingMatched = 3, kBenchmarkFailed = 4 };

/// True while any exit is Google Benchmark refusing its arguments: it then leaves with 1 or, after
/// its help, with 0.
bool exit_is_refusal = false;

/// Google Benchmark ends the process by itself, with 1 for a file that it cannot open.
void exit_as_usage(int status, void* /*unused*/) {
  if (status != 1 && !exit_is_refusal) return;
  std::cout.flush();
  std::fflush(nullptr);
  if (exit_is_refusal)
    std::cerr << "fathom_bench: an argument has a value that Google Benchmark refuses\n";
  std::_Exit(kUsage);
}

/// The command line with what its presets and this machine make of it.
Options resolved_options(int argc, char** argv) {
  Options options = parse_options(argc, argv);
  resolve_explanation(options);
  resolve_study(options);
  resolve_isolation(options);
  resolve_for_machine(options);
  return options;
}

/// Hands the remaining arguments to Google Benchmark; those that it leaves are unknown to both.
void initialize_google_benchmark(Options& options, char* program) {
  if (options.help) {
    std::cout << options_help() << "\nGoogle Benchmark's own:\n\n";
    options.google_benchmark.emplace_back("--help");
  }
  std::vector<char*> arguments{program};
  for (auto& argument : options.google_benchmark) arguments.push_back(argument.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  exit_is_refusal = !options.help;
  benchmark::Initialize(&count, arguments.data());
  exit_is_refusal = false;
  if (count > 1) refuse_argument(arguments[1]);
}

/// Messages of data sets go through `progress`, which must live as long as `options`.
void connect(Options& options, Progress& progress) {
  options.data.progress = [&](const std::string& stage) { progress.stage(stage); };
  options.data.warn = [&](const std::string& line) {
    progress.wipe();
    std::cerr << "fathom_bench: " << line << '\n';
  };
}

int nothing_matched(const std::string& filter, const std::vector<Row>& rows) {
  std::cerr << "fathom_bench: no benchmark matches --benchmark_filter=" << filter << '\n';
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(row.name);
  for (const auto& name : nearest(filter, names, 3)) std::cerr << "  nearest: " << name << '\n';
  std::cerr << "  --benchmark_list_tests prints all " << rows.size() << " names\n";
  return kNothingMatched;
}

int record(const std::vector<Row>& rows, const std::string& directory, Progress& progress) {
  record_shapes(rows, directory, [&](const std::string& what) { progress.note(what); });
  progress.wipe();
  return kOk;
}

/// The rows that an earlier run left to do.
std::vector<Row> unfinished(const std::vector<Row>& chosen, const EarlierRun& earlier,
                            const std::string& path) {
  std::vector<Row> rows = chosen;
  std::erase_if(rows,
                [&](const Row& row) { return earlier.finished.contains(row.name + kNameSuffix); });
  std::cerr << "fathom_bench: " << path << " holds " << chosen.size() - rows.size() << " of "
            << chosen.size() << " rows\n";
  return rows;
}

/// The facts of the machine for the context. Warns of what makes times doubtful; with
/// --fathom_strict throws UsageError.
ContextEntries checked_machine(const Options& options) {
  if (options.unchecked || lists_tests(options.google_benchmark)) return {};
  const bool with_gpu = std::find(options.devices.begin(), options.devices.end(),
                                  fixtures::Device::kCuda) != options.devices.end();
  ContextEntries entries;
  for (const auto& fact : machine_facts(with_gpu)) {
    entries.emplace_back("machine_" + fact.key, fact.value);
    if (fact.doubt.empty()) continue;
    const std::string line = "machine: " + fact.key + " " + fact.value + ": " + fact.doubt;
    if (options.strict) throw UsageError("--fathom_strict: " + line);
    options.data.warn(line);
  }
  return entries;
}

void add_context(const ContextEntries& entries) {
  for (const auto& [key, value] : entries) benchmark::AddCustomContext(key, value);
}

/// Adds our tables to the context of the sinks that come after it.
class TableContext final : public ResultSink {
 public:
  void begin(const Context& /*context*/) override { add_context(table_context()); }
  void add(const RowResult& /*result*/) override {}
};

/// What benchmark::RunSpecifiedBenchmarks() does, with a process for each row.
void run_isolated(const std::vector<Row>& rows, const Options& options, Peaks& peaks,
                  Progress& progress, Reporter& reporter) {
  benchmark::BenchmarkReporter::Context context;
  context.name_field_width = 0;
  for (const auto& row : rows) {
    context.name_field_width =
        std::max(context.name_field_width, row.name.size() + std::strlen(kNameSuffix));
  }
  reporter.ReportContext(context);
  const Isolation isolation(options, peak_context(rows, peaks));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto tick = [&] { progress.show(rows[i].name, "running"); };
    tick();
    reporter.hand_over(isolation.run(rows[i], static_cast<int64_t>(i), tick, options.data.warn));
  }
  reporter.Finalize();
}

void run_here(const std::vector<Row>& rows, Loop& loop, std::vector<RowRecord>& records,
              Reporter& reporter) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    benchmark::RegisterBenchmark(
        rows[i].name.c_str(),
        [&, i](benchmark::State& state) { loop.run(state, rows[i], records[i]); })
        ->MeasureProcessCPUTime()
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
  // The rows are filtered; "^" also spares Google Benchmark a search that is quadratic in the rows.
  benchmark::SetBenchmarkFilter("^");
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
}

/// Where stdout is JSON, explanations go to the file only.
void print_and_write(const Options& options, const std::vector<Explanation>& explanations) {
  if (explanations.empty()) return;  // --benchmark_list_tests
  for (const auto& explanation : explanations) {
    if (options.console) std::cout << '\n' << explanation_text(explanation);
  }
  if (options.out.empty()) return;
  replace_file(options.out + ".explain.json", explanations_json(explanations));
}

/// Measures the rows of `chosen` that an earlier run has not finished, or lists them.
int measure(const Options& options, const std::vector<Row>& chosen, Progress& progress) {
  EarlierRun earlier;
  std::vector<Row> rows = chosen;
  if (options.resume) {
    earlier = read_earlier_run(options.out, context(options));
    rows = unfinished(chosen, earlier, options.out);
    if (rows.empty()) return kOk;
  }
  Peaks peaks = options.peaks.empty() ? Peaks() : Peaks(read_peaks(options.peaks));
  const ContextEntries machine = checked_machine(options);
  Explainer explainer(rows);
  Display display(options, progress);
  OutputFiles files(options, std::move(earlier));
  TableContext tables;  // long lines, which a console does not show
  std::vector<ResultSink*> sinks{&explainer, &display, &files};
  sinks.insert(sinks.begin() + (options.console ? 2 : 1), &tables);
  std::vector<RowRecord> records(rows.size());
  Reporter reporter(rows, records, sinks, [&] {
    progress.note("measuring this machine's peaks");
    add_context(context(options));
    add_context(machine);
    add_context(peak_context(chosen, peaks));
    progress.start(expected_seconds(rows, peaks));
    if (options.study) progress.announce();
  });
  if (options.isolate && !lists_tests(options.google_benchmark)) {
    run_isolated(rows, options, peaks, progress, reporter);
  } else {
    Loop loop(peaks, [&](const Row& row, const char* stage) { progress.show(row.name, stage); });
    run_here(rows, loop, records, reporter);
  }
  if (options.explain) print_and_write(options, explainer.explanations(*options.explain));
  return display.failures() > 0 ? kBenchmarkFailed : kOk;
}

int run(int argc, char** argv) {
  Options options = resolved_options(argc, argv);
  set_mkl_dispatch(options.mkl);
  set_malloc_tuning(options.malloc);
  initialize_google_benchmark(options, argv[0]);
  if (options.models) {
    std::cout << models::workloads_markdown();
    return kOk;
  }
  if (options.ops) {
    std::cout << ops::op_types_text();
    return kOk;
  }
  Progress progress;
  connect(options, progress);
  const std::vector<Row> all = options.study ? study_rows(options) : make_rows(options);
  const std::string filter = benchmark::GetBenchmarkFilter();
  const std::vector<Row> chosen = filtered(all, filter);
  if (chosen.empty()) return nothing_matched(filter, all);
  if (!options.record.empty()) return record(chosen, options.record, progress);
  return measure(options, chosen, progress);
}

}  // namespace
}  // namespace fathom::benchmarks

int main(int argc, char** argv) {
  namespace bench = fathom::benchmarks;
  on_exit(bench::exit_as_usage, nullptr);
  try {
    return bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "fathom_bench: " << error.what() << '\n';
    return bench::kUsage;
  }
}
