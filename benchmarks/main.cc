#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/error.h"
#include "benchmarks/explain/explain_json.h"
#include "benchmarks/explain/explain_text.h"
#include "benchmarks/explain/explainer.h"
#include "benchmarks/google_benchmark.h"
#include "benchmarks/isolate/isolation.h"
#include "benchmarks/isolate/run_rows.h"
#include "benchmarks/machine/machine.h"
#include "benchmarks/measure/loop.h"
#include "benchmarks/options/files.h"
#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/options/help.h"
#include "benchmarks/options/nearest.h"
#include "benchmarks/options/option.h"
#include "benchmarks/options/options.h"
#include "benchmarks/output/context/context.h"
#include "benchmarks/output/context/version.h"
#include "benchmarks/output/display.h"
#include "benchmarks/output/exit_code.h"
#include "benchmarks/output/files/json.h"
#include "benchmarks/output/files/output_files.h"
#include "benchmarks/output/files/output_lock.h"
#include "benchmarks/output/files/peaks_json.h"
#include "benchmarks/output/library_exit.h"
#include "benchmarks/output/progress.h"
#include "benchmarks/output/reporter.h"
#include "benchmarks/ranks/crew.h"
#include "benchmarks/ranks/error_output.h"
#include "benchmarks/rows/expected_seconds.h"
#include "benchmarks/rows/presets.h"
#include "benchmarks/rows/record_shapes.h"
#include "benchmarks/rows/rows.h"
#include "benchmarks/tasks/vendor_probe.h"
#include "fixtures/files/text.h"
#include "fixtures/files/written_file.h"
#include "models/network/network_rows.h"
#include "models/table.h"
#include "ops/types/table.h"

namespace fathom::benchmarks {
namespace {

constexpr const char* kNoLoss = "it does not return one number that depends on its parameters";

ErrorOutput errors;

/// Descriptors that are closed would be given to the files that are opened next.
void open_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) std::_Exit(kProgramFailed);
  }
}

/// The options of the command line, with the defaults of this machine.
Options resolved_options(int argc, char** argv) {
  try {
    errors.place = fixtures::launched_place();
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
  Options options = parse_options(argc, argv, errors.place);
  errors.shared = Shared::kByHost;
  resolve_for_machine(options);
  return options;
}

/// Passes the remaining arguments to Google Benchmark. Throws UsageError for one that it does not
/// know.
void pass_arguments_on(Options& options, char* program) {
  write_min_time(options.google_benchmark);
  // It becomes the "executable" of the context.
  static std::string name = utf8(program);
  std::vector<char*> arguments{name.data()};
  for (auto& argument : options.google_benchmark) arguments.push_back(argument.data());
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  initialize_google_benchmark(&count, arguments.data());
  if (count > 1) refuse_argument(arguments[1]);
}

/// Throws UsageError for a file that Google Benchmark, which writes other formats than JSON, could
/// not open.
void expect_other_format(const Options& options) {
  const std::string path = google_benchmark_value(options.google_benchmark, "--benchmark_out", "");
  if (path.empty() || !fixtures::is_plain_file(path)) return;
  open_output("--benchmark_out=" + path, path, [&] { fixtures::expect_replaceable(path); });
}

/// Sends messages about data sets to `progress`, which must outlive `options`.
void connect(Options& options, Progress& progress) {
  options.conditions.data.progress = [&](const std::string& stage) { progress.stage(stage); };
  options.conditions.data.warn = [&](const std::string& line) {
    progress.wipe();
    std::cerr << errors.prefix() << line << '\n';
  };
}

/// Warns of what every rank of this host finds: only the first of them does.
void warn_once(const Options& options, const std::string& line) {
  if (!options.axes.place || options.axes.place->local_rank == 0)
    options.conditions.data.warn(line);
}

/// Reads the files of --fathom_network. Their rows depend on what a step of each does.
void add_networks(const Options& options, Progress& progress) {
  if (options.networks.empty()) return;
  fixtures::set_threads(fixtures::usable_cores());
  const bool on_gpu = options.axes.devices == std::vector{fixtures::Device::kCuda} &&
                      fixtures::unavailable_reason(fixtures::Device::kCuda).empty();
  std::vector<std::string> paths = options.networks;
  std::stable_partition(paths.begin(), paths.end(),
                        [](const auto& path) { return !models::is_compiled(path); });
  for (const auto& path : paths) {
    progress.note("reading " + path);
    models::add_network({.path = path,
                         .arguments = options.network_inputs,
                         .device = on_gpu ? fixtures::Device::kCuda : fixtures::Device::kCpu,
                         .warn = [&](const std::string& line) { warn_once(options, line); }});
  }
  progress.wipe();
  for (const auto& line : network_limits(options.axes)) warn_once(options, line);
  if (!options.explain) return;
  const StepName& step = *options.explain;
  const models::WorkloadRow& workload = models::workload(step.workload);
  const auto modes = models::modes(workload);
  std::string why_not;
  if (workload.compiled) {
    why_not = "it is compiled; give the file of torch.export.save, too";
  } else if (std::find(modes.begin(), modes.end(), step.mode) == modes.end()) {
    why_not = step.mode == models::Mode::kTrain ? kNoLoss : "its inference has no rows";
  }
  if (why_not.empty()) return;
  throw UsageError("--fathom_explain=" + step.workload + '/' + std::string(name(step.mode)) +
                   ": the network cannot be explained: " + why_not);
}

int nothing_matched(const std::string& filter, const std::vector<Row>& rows) {
  if (errors.is_silent()) return kNothingMatched;
  std::cerr << "fathom_bench: no benchmark matches --benchmark_filter=" << filter << '\n';
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(row.name);
  for (const auto& name : nearest(filter, names, 3)) std::cerr << "  nearest: " << name << '\n';
  for (const auto& workload : models::workloads()) {
    if (is_exported(workload) && !workload.trains &&
        filter.find(workload.name + "/train") != std::string::npos)
      std::cerr << "  " << workload.name << " has no training step: " << kNoLoss << '\n';
  }
  std::cerr << "  --benchmark_list_tests prints all " << rows.size() << " names\n";
  return kNothingMatched;
}

int record(const std::vector<Row>& rows, const std::string& directory, Progress& progress) {
  const bool recorded =
      record_shapes(rows, directory, [&](const std::string& what) { progress.note(what); });
  progress.wipe();
  if (recorded) return kOk;
  std::cerr << "fathom_bench: --fathom_record: no step matches the filter, expected one such as "
               "--benchmark_filter=^vgg/\n";
  return kNothingMatched;
}

/// The rows of `chosen` that the earlier run did not finish.
std::vector<Row> unfinished(const std::vector<Row>& chosen, const EarlierRun& earlier,
                            const std::string& path) {
  std::vector<Row> rows = chosen;
  std::erase_if(rows,
                [&](const Row& row) { return earlier.finished.contains(row.name + kNameSuffix); });
  std::cerr << "fathom_bench: " << path << " holds " << chosen.size() - rows.size() << " of "
            << fixtures::counted(std::ssize(chosen), "row") << '\n';
  return rows;
}

/// What --fathom_machine_check looks at.
std::vector<MachineFact> checked_facts(const Options& options) {
  if (options.machine_check == MachineCheck::kOff || lists_tests(options.google_benchmark))
    return {};
  const bool with_gpu = std::find(options.axes.devices.begin(), options.axes.devices.end(),
                                  fixtures::Device::kCuda) != options.axes.devices.end();
  return machine_facts(with_gpu);
}

/// Warns of what makes times unreliable, or throws UsageError.
void judge_machine(const Options& options, const std::vector<MachineFact>& facts) {
  for (const auto& fact : facts) {
    if (fact.doubt.empty()) continue;
    const std::string line = "machine: " + fact.key + " " + fact.value + ": " + fact.doubt;
    if (options.machine_check == MachineCheck::kRefuse)
      throw UsageError("--fathom_machine_check=refuse: " + line);
    options.conditions.data.warn(line);
  }
}

/// The peaks of --fathom_peaks and of an earlier run, which must agree: the rows of one file are
/// compared with one peak each.
std::map<std::string, Peak> known_peaks(const Options& options, const EarlierRun& earlier) {
  if (options.peaks.empty()) return earlier.peaks;
  auto peaks = read_peaks(options.peaks, context(options));
  for (const auto& [key, peak] : earlier.peaks) {
    const auto [own, is_new] = peaks.emplace(key, peak);
    if (!is_new && own->second.rate != peak.rate) {
      throw UsageError("--fathom_peaks=" + options.peaks + ": " + key + " differs from that of " +
                       options.out + ", which --fathom_resume continues; leave it out");
    }
  }
  return peaks;
}

/// Leaves out entries with an empty value, which are unknown or not given.
void add_context(const ContextEntries& entries) {
  for (const auto& [key, value] : entries) {
    if (!value.empty()) benchmark::AddCustomContext(key, value);
  }
}

/// Adds table_context() to the context of the sinks that come after it.
class TableContext final : public ResultSink {
 public:
  void begin(const Context& /*context*/) override { add_context(table_context()); }
  void add(const RowResult& /*result*/) override {}
};

/// Prints the explanations, unless stdout is JSON or CSV, and writes them beside --benchmark_out.
void print_and_write(const Options& options, const std::vector<Explanation>& explanations) {
  if (explanations.empty()) return;  // --benchmark_list_tests
  for (const auto& explanation : explanations) {
    if (options.console) std::cout << '\n' << explanation_text(explanation);
  }
  if (options.out.empty() || !fixtures::has_files_beside(options.out)) return;
  fixtures::replace_file(options.out + ".explain.json", explanations_json(explanations));
}

/// Measures the rows of `chosen` that an earlier run has not finished, or prints their names.
int measure(const Options& options, const std::vector<Row>& chosen, Progress& progress) {
  // First: whatever ends this process below, the ranks of a launcher must not wait for it.
  std::optional<Crew> crew;
  const bool has_ranks =
      std::any_of(chosen.begin(), chosen.end(), [](const Row& row) { return row.ranks > 0; });
  if ((has_ranks || options.axes.place) && !lists_tests(options.google_benchmark)) {
    crew.emplace(options, chosen, options.conditions.data.warn);
  }
  std::optional<OutputLock> lock;
  std::optional<OutputLock> samples_lock;
  if (!lists_tests(options.google_benchmark)) {
    lock.emplace("--benchmark_out", options.out);
    samples_lock.emplace("--fathom_samples", options.recording.samples);
  }
  EarlierRun earlier;
  std::vector<Row> rows = chosen;
  const auto machine = checked_facts(options);
  const auto described = [&] {
    ContextEntries entries = context(options);
    for (const auto& fact : machine) entries.emplace_back("machine_" + fact.key, fact.value);
    for (const auto& entry : crew ? crew->context() : ContextEntries{}) entries.push_back(entry);
    return entries;
  };
  if (options.resume) {
    earlier = read_earlier_run(options.out, described());
    rows = unfinished(chosen, earlier, options.out);
    if (rows.empty()) return kOk;
  }
  Peaks peaks(known_peaks(options, earlier));
  judge_machine(options, machine);
  Explainer explainer(rows);
  Display display(options, rows, progress);
  std::optional<OutputFiles> files;
  TableContext tables;  // its lines are too long for a console
  std::vector<ResultSink*> sinks{&explainer, &display};
  if (lock) sinks.push_back(&files.emplace(options, std::move(earlier)));
  sinks.insert(sinks.begin() + (options.console ? 2 : 1), &tables);
  std::vector<RowRecord> records(rows.size());
  Reporter reporter(rows, records, sinks, [&] {
    progress.note("measuring this machine's peaks");
    add_context(described());
    add_context(peak_context(chosen, peaks));
    if (options.machine_check != MachineCheck::kOff) {
      for (const auto& line : peak_doubts(chosen, peaks)) options.conditions.data.warn(line);
    }
    progress.start(expected_seconds(rows, repetitions(options.google_benchmark), peaks));
    if (options.study) progress.announce();
  });
  Loop loop(
      peaks, [&](const Row& row, const char* stage) { progress.show(row.name, stage); },
      options.conditions, crew ? &*crew : nullptr);
  if (lists_tests(options.google_benchmark)) {
    loop.run_all(rows, records, reporter);
  } else {
    // Google Benchmark empties a file that it writes itself when it runs rows again.
    if (!options.out.empty() || !is_given("--benchmark_out", options)) {
      reporter.repeat_after_standstill(options.conditions.data.warn);
    }
    run_rows(options, rows, records, peaks, progress, crew ? &*crew : nullptr, loop, reporter);
  }
  if (options.explain) explainer.measure_again(*options.explain, loop);
  progress.wipe();
  benchmark::Shutdown();
  if (options.explain) print_and_write(options, explainer.explanations(*options.explain));
  return display.exit_code();
}

int run(int argc, char** argv) {
  Options options = resolved_options(argc, argv);
  if (options.help) {
    std::cout << options_help();
    return kOk;
  }
  if (options.version) {
    std::cout << version_text();
    return kOk;
  }
  set_mkl_dispatch(options.conditions.mkl);
  set_malloc_tuning(options.conditions.malloc);
  errors.shared = Shared::kByAll;
  pass_arguments_on(options, argv[0]);
  expect_other_format(options);
  Progress progress;
  connect(options, progress);
  errors.shared = Shared::kByHost;
  add_networks(options, progress);
  errors.shared = Shared::kByAll;
  if (options.models || options.ops) {
    if (options.models) std::cout << models::workloads_markdown();
    if (options.models && options.ops) std::cout << '\n';
    if (options.ops) std::cout << ops::op_types_text();
    return kOk;
  }
  if (!options.no_gpu.empty()) warn_once(options, "no GPU rows: " + options.no_gpu);
  errors.shared = Shared::kByHost;
  const std::vector<Row> all = make_rows(options);
  const std::string filter = benchmark::GetBenchmarkFilter();
  std::vector<Row> chosen = filtered(all, filter);
  const bool on_gpu = std::any_of(chosen.begin(), chosen.end(), [](const Row& row) {
    return row.device == fixtures::Device::kCuda;
  });
  if (on_gpu && fixtures::unavailable_reason(fixtures::Device::kCuda).empty())
    drop_refused(chosen, vendor_refusal, options.conditions.data.warn);
  errors.shared = Shared::kByAll;
  if (chosen.empty()) return nothing_matched(filter, all);
  const bool lists = lists_tests(options.google_benchmark);
  if (!lists) check_isolation(options, chosen);
  // A row's own process has one row only.
  const bool is_first = !options.axes.place || options.axes.place->rank == 0;
  if (is_first && (options.isolate || !options.was_typed("--fathom_isolate"))) {
    for (const auto& line : unused_values(options, all, chosen, filter))
      options.conditions.data.warn(line);
  }
  errors.shared = Shared::kByNone;
  if (options.axes.place && options.axes.place->rank > 0)
    return lists ? kOk : follow(*options.axes.place, options, chosen);
  if (!options.record.empty() && !lists) return record(chosen, options.record, progress);
  return measure(options, chosen, progress);
}

}  // namespace
}  // namespace fathom::benchmarks

int main(int argc, char** argv) {
  namespace bench = fathom::benchmarks;
  bench::open_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error of write()
  bench::replace_library_exits();
  try {
    const int code = bench::run(argc, argv);
    if (std::cout.flush()) return code;
    // The write that failed may be hours old, and errno another one's.
    const bool failed = write(STDOUT_FILENO, "\n", 1) < 0;
    std::cerr << bench::errors.prefix() << "stdout: " << (failed ? std::strerror(errno) : "was cut")
              << '\n';
    return code == bench::kOk ? bench::kProgramFailed : code;
  } catch (const std::exception& error) {
    const auto code = bench::exit_code(error);
    if (code != bench::kUsage || !bench::errors.is_silent())
      std::cerr << bench::errors.prefix() << bench::last_line(error) << '\n';
    return code;
  }
}
