#include "benchmarks/rows/expected_seconds.h"

namespace fathom::benchmarks {
namespace {

/// Assumes the smallest number of steps that measure/loop.cc and tasks/op_task.cc run.
double expected_seconds(const Row& row, int repetitions, const Peaks& peaks) {
  constexpr double kShareOfPeak = 0.6;
  constexpr double kBytesPerSecond = 1e10;
  constexpr int kComparedSteps = 14;  // and those that choose the layout
  constexpr int kComparedSetUps = 4;  // of three compared steps and the timed one
  constexpr double kSetUp = 0.3;      // and Google Benchmark's search for an iteration count
  const Peak* peak = peaks.find({row.device, row.threads * row.ranks_here, row.precision});
  if (!row.cost || peak == nullptr || peak->rate <= 0) return 1;
  const double rate = kShareOfPeak * peak->rate;
  const double step = row.cost->flops / rate + row.cost->bytes / kBytesPerSecond;
  const double once = 2 + (row.op ? 4 : 0) + (row.memory != nullptr ? 2 : 0) +
                      (row.own_process ? kComparedSteps : 0);
  const double each_time = 3 + (row.profiling != Profiling::kNone ? 2 : 0);
  const double set_up = (row.own_process ? kComparedSetUps : 1) * row.set_up_flops / rate + kSetUp;
  return (once + repetitions * each_time) * step + set_up;
}

}  // namespace

std::map<std::string, double> expected_seconds(const std::vector<Row>& rows, int repetitions,
                                               const Peaks& peaks) {
  std::map<std::string, double> seconds;
  for (const auto& row : rows) seconds[row.name] = expected_seconds(row, repetitions, peaks);
  return seconds;
}

}  // namespace fathom::benchmarks
