#include "benchmarks/output/sample_lines.h"

#include <algorithm>

#include "benchmarks/output/json.h"
#include "benchmarks/output/op_type_rows.h"

namespace fathom::benchmarks {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

}  // namespace

std::string sample_lines(const std::vector<Run>& runs, std::span<const TimedPass> repetitions) {
  const auto count = static_cast<std::size_t>(std::count_if(
      runs.begin(), runs.end(), [](const Run& run) { return run.run_type == Run::RT_Iteration; }));
  if (count == 0) return {};
  const auto& name = runs.front().run_name;
  const std::string row = name.str();
  std::string lines;
  const auto timed = repetitions.last(std::min(count, repetitions.size()));
  for (std::size_t repetition = 0; repetition < timed.size(); ++repetition) {
    const Samples& samples = timed[repetition].samples;
    const auto steps = static_cast<std::size_t>(samples.steps_per_sample);
    for (std::size_t i = 0; i < samples.us.size(); ++i) {
      lines += sample_line(row, repetition, i * steps, samples.us[i]);
    }
  }
  for (std::size_t repetition = 0; repetition < repetitions.size(); ++repetition) {
    const auto& profile = repetitions[repetition].op_types;
    if (!profile) continue;
    for (std::size_t step = 0; step < profile->series.size(); ++step) {
      for (const auto& op : profile->series[step].ops) {
        const std::string op_row = op_row_name(name, op.type).str();
        lines += sample_line(op_row, repetition, step, op.seconds * 1e6);
      }
    }
  }
  return lines;
}

}  // namespace fathom::benchmarks
