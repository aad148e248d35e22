#include "benchmarks/output/files/sample_lines.h"

#include "benchmarks/output/files/json.h"
#include "benchmarks/output/files/op_type_rows.h"

namespace fathom::benchmarks {
namespace {

using Run = benchmark::BenchmarkReporter::Run;

}  // namespace

std::string sample_lines(const std::vector<Run>& runs, std::span<const TimedPass> repetitions) {
  if (runs.empty()) return {};
  const auto& name = runs.front().run_name;
  const std::string row = name.str();
  std::string lines;
  for (std::size_t repetition = 0; repetition < repetitions.size(); ++repetition) {
    const Samples& samples = repetitions[repetition].samples;
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
