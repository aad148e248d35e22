#include "benchmarks/isolate/run_rows.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/isolate/isolation.h"
#include "benchmarks/options/google_benchmark_flags.h"
#include "benchmarks/output/files/peaks_json.h"

namespace fathom::benchmarks {
namespace {

/// Passes on the runs of a part of the rows, the one that begins at row `first`.
class PartReporter final : public benchmark::BenchmarkReporter {
 public:
  PartReporter(Reporter& whole, std::size_t first)
      : whole_(whole), first_(static_cast<int64_t>(first)) {}

  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    std::vector<Run> placed = runs;
    for (auto& run : placed) run.family_index += first_;
    whole_.ReportRuns(placed);
  }

 private:
  Reporter& whole_;
  int64_t first_;
};

}  // namespace

void run_rows(const Options& options, const std::vector<Row>& rows, std::span<RowRecord> records,
              Peaks& peaks, Progress& progress, Crew* crew, Loop& loop, Reporter& reporter) {
  benchmark::BenchmarkReporter::Context context;
  context.name_field_width = 0;
  for (const auto& row : rows) {
    context.name_field_width =
        std::max(context.name_field_width, row.name.size() + std::strlen(kNameSuffix));
  }
  constexpr const char* kLongestAggregate = "_stddev";
  if (repetitions(options.google_benchmark) > 1)
    context.name_field_width += std::strlen(kLongestAggregate);
  reporter.ReportContext(context);
  std::optional<Isolation> isolation;
  const auto isolated = [&](const Row& row) { return is_isolated(options, row); };
  const auto run_here = [&](std::size_t first, std::size_t count) {
    PartReporter part(reporter, first);
    loop.run_all(std::span(rows).subspan(first, count), records.subspan(first, count), part);
  };
  for (std::size_t i = 0; i < rows.size();) {
    if (isolated(rows[i])) {
      if (crew != nullptr) crew->rest();  // the row's process inherits the CPUs of this one
      const auto tick = [&] { progress.show(rows[i].name, "running"); };
      tick();
      if (!isolation) isolation.emplace(options, peak_context(rows, peaks));
      reporter.pass_on(
          isolation->run(rows[i], static_cast<int64_t>(i), tick, options.conditions.data.warn));
      ++i;
      continue;
    }
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(i);
    const auto count = static_cast<std::size_t>(std::find_if(begin, rows.end(), isolated) - begin);
    run_here(i, count);
    i += count;
  }
  for (auto again = reporter.take_again(); !again.empty(); again = reporter.take_again()) {
    for (const std::size_t i : again) run_here(i, 1);
  }
  reporter.Finalize();
}

}  // namespace fathom::benchmarks
