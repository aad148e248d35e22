// What the timed loop adds to a step, beside a bare Google Benchmark loop over the same empty step
// in the same process:
//   build/default/harness_cost --benchmark_repetitions=9
// Rows are nanoseconds a step; the harness may add 200.
#include <chrono>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/loop.h"

namespace fathom::benchmarks {
namespace {

/// A step that does nothing once it is warm. How long it takes until then decides whether the loop
/// gives it samples of its own.
class EmptyTask final : public Task {
 public:
  explicit EmptyTask(double seconds_while_cold) : seconds_(seconds_while_cold) {}

  void run() override {
    if (cold_) spin();
  }
  void rehearse() override {
    spin();
    cold_ = false;
  }
  void check() override {}
  void check_finite() override {}
  Figures figures() const override { return {}; }

 private:
  void spin() const {
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::duration<double>(seconds_)) {
    }
  }

  double seconds_;
  bool cold_ = true;
};

Row empty_row(const std::string& name, double seconds_while_cold) {
  return {.name = name,
          .subject = name,
          .threads = 1,
          .device = fixtures::Device::kCpu,
          .precision = fixtures::Precision::kFp32,
          .make = [seconds_while_cold] { return std::make_unique<EmptyTask>(seconds_while_cold); }};
}

void bare(benchmark::State& state) {
  EmptyTask empty(0);
  empty.rehearse();
  Task* task = &empty;
  benchmark::DoNotOptimize(task);  // a virtual call here, too
  for (auto unused : state) task->run();
}

}  // namespace
}  // namespace fathom::benchmarks

int main(int argc, char** argv) {
  using namespace fathom::benchmarks;
  benchmark::Initialize(&argc, argv);
  Peaks peaks;
  Loop loop(
      peaks, [](const Row&, const char*) {}, /*keep_samples=*/false);
  const Row one_step = empty_row("harness/one_step_a_sample", 1e-3);
  const Row many_steps = empty_row("harness/many_steps_a_sample", 0);
  benchmark::RegisterBenchmark("bare", bare)->UseRealTime();
  for (const Row* row : {&one_step, &many_steps}) {
    benchmark::RegisterBenchmark(row->name.c_str(),
                                 [&loop, row](benchmark::State& state) { loop.run(state, *row); })
        ->MeasureProcessCPUTime()
        ->UseRealTime();
  }
  benchmark::RunSpecifiedBenchmarks();
}
