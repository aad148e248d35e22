#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "benchmarks/error.h"
#include "benchmarks/explain/explain_json.h"
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
#include "benchmarks/rows/record_shapes.h"
#include "benchmarks/rows/rows.h"
#include "benchmarks/rows/study.h"
#include "models/table.h"
#include "ops/core/fields.h"

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

/// Hands the remaining arguments to Google Benchmark; those that it leaves are unknown to both.
void initialize_google_benchmark(Options& options, char* program) {
  std::vector<char*> arguments{program};
  if (options.help) options.google_benchmark.emplace_back("--help");
  for (auto& argument : options.google_benchmark) arguments.push_back(argument.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  exit_is_refusal = !options.help;
  benchmark::Initialize(&count, arguments.data());
  exit_is_refusal = false;
  if (count > 1) refuse_argument(arguments[1]);
}

int nothing_matched(const std::string& filter, const std::vector<Row>& rows) {
  std::cerr << "fathom_bench: no benchmark matches --benchmark_filter=" << filter << '\n';
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(row.name);
  for (const auto& name : nearest(filter, names, 3)) std::cerr << "  nearest: " << name << '\n';
  std::cerr << "  --benchmark_list_tests prints all " << rows.size() << " names\n";
  return kNothingMatched;
}

/// Where stdout is JSON, the file alone tells.
void print_and_write(const Options& options, const std::vector<Explanation>& explanations) {
  if (explanations.empty()) return;  // --benchmark_list_tests
  for (const auto& explanation : explanations) {
    if (options.console) std::cout << '\n' << explanation_text(explanation);
  }
  if (options.out.empty()) return;
  replace_file(options.out + ".explain.json", explanations_json(explanations));
}

/// What is left of `chosen` after an earlier run.
std::vector<Row> unfinished(const std::vector<Row>& chosen, const EarlierRun& earlier,
                            const std::string& path) {
  std::vector<Row> rows = chosen;
  std::erase_if(rows,
                [&](const Row& row) { return earlier.finished.contains(row.name + kNameSuffix); });
  std::cerr << "fathom_bench: " << path << " holds " << chosen.size() - rows.size() << " of "
            << chosen.size() << " rows\n";
  return rows;
}

/// What benchmark::RunSpecifiedBenchmarks() does, with a process for each row.
void run_isolated(const std::vector<Row>& rows, const Options& options, Peaks& peaks,
                  Progress& progress, Display& display, OutputFiles& files) {
  benchmark::BenchmarkReporter::Context context;
  context.name_field_width = 0;
  for (const auto& row : rows) {
    context.name_field_width =
        std::max(context.name_field_width, row.name.size() + std::strlen(kNameSuffix));
  }
  display.ReportContext(context);
  files.ReportContext(context);
  const Isolation isolation(options, peak_context(rows, peaks));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto tick = [&] { progress.show(rows[i].name, "running"); };
    tick();
    const auto found = isolation.run(rows[i], static_cast<int64_t>(i), tick, options.data.warn);
    display.ReportRuns(found.runs);
    files.ReportRuns(found.runs);
    files.add_samples(found.samples);
  }
  display.Finalize();
}

/// Tells what makes times doubtful; throws UsageError where that is to be refused.
ContextEntries checked_machine(const Options& options) {
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

int run(int argc, char** argv) {
  Options options = parse_options(argc, argv);
  choose(options.mkl);
  choose(options.malloc);
  if (options.help) std::cout << options_help() << "\nGoogle Benchmark's own:\n\n";
  initialize_google_benchmark(options, argv[0]);
  if (options.models) {
    std::cout << models::workloads_markdown();
    return kOk;
  }
  Progress progress;
  options.data.progress = [&](const std::string& stage) { progress.stage(stage); };
  options.data.warn = [&](const std::string& line) {
    progress.wipe();
    std::cerr << "fathom_bench: " << line << '\n';
  };
  const std::vector<Row> all = options.study ? study_rows(options) : make_rows(options);
  const std::string filter = benchmark::GetBenchmarkFilter();
  const std::vector<Row> chosen = filtered(all, filter);
  if (chosen.empty()) return nothing_matched(filter, all);

  if (!options.record.empty()) {
    record_shapes(chosen, options.record, progress);
    return kOk;
  }
  std::vector<Row> rows = chosen;
  EarlierRun earlier;
  if (options.resume) {
    earlier = read_earlier_run(options.out, context(options));
    rows = unfinished(chosen, earlier, options.out);
    if (rows.empty()) return kOk;
  }
  Peaks peaks = options.peaks.empty() ? Peaks() : Peaks(read_peaks(options.peaks));
  const bool measures = !lists_tests(options.google_benchmark);
  const ContextEntries machine =
      measures && !options.unchecked ? checked_machine(options) : ContextEntries{};
  Loop loop(peaks, [&](const Row& row, const char* stage) { progress.show(row.name, stage); });
  Display display(options.console, loop, progress, [&] {
    progress.note("measuring this machine's peaks");
    for (const auto& entries : {context(options), machine, peak_context(chosen, peaks)}) {
      for (const auto& [key, value] : entries) benchmark::AddCustomContext(key, value);
    }
    progress.start(expected_seconds(rows, peaks));
    if (options.study) progress.announce();
  });
  OutputFiles files(options, loop, std::move(earlier));
  if (options.isolate && measures) {
    run_isolated(rows, options, peaks, progress, display, files);
    return display.failures() > 0 ? kBenchmarkFailed : kOk;
  }
  for (const auto& row : rows) {
    benchmark::RegisterBenchmark(row.name.c_str(),
                                 [&](benchmark::State& state) { loop.run(state, row); })
        ->MeasureProcessCPUTime()
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
  // The filter has done its work; "^" also spares Google Benchmark a search that is quadratic in
  // the rows.
  benchmark::SetBenchmarkFilter("^");
  Explainer explainer(display, rows, loop);
  if (options.writes_files()) {
    benchmark::RunSpecifiedBenchmarks(&explainer, &files);
  } else {
    benchmark::RunSpecifiedBenchmarks(&explainer);
  }
  benchmark::Shutdown();
  if (options.explain) print_and_write(options, explainer.explanations(*options.explain));
  return display.failures() > 0 ? kBenchmarkFailed : kOk;
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
