// Compares the timed loop with a bare Google Benchmark loop over the same step, in one process on
// one thread: an empty step, a short op, and the shortest step of a workload.
//   build/default/harness_cost --benchmark_repetitions=9
//   --benchmark_enable_random_interleaving=true
// The timed loop may add 200 ns to a step, and 1 % to an op of 5 us and to memnet/infer.
#include <chrono>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/measure/loop.h"
#include "benchmarks/tasks/model_task.h"
#include "benchmarks/tasks/op_task.h"
#include "ops/types/shapes.h"

namespace fathom::benchmarks {
namespace {

/// A step that does nothing once it is warm. Its time before that decides how many steps share a
/// sample.
class EmptyTask final : public Task {
 public:
  explicit EmptyTask(double seconds_while_cold) : seconds_(seconds_while_cold) {}

  void run() override {
    if (cold_) spin();
  }
  void warm_up_step() override {
    spin();
    cold_ = false;
  }
  void check() override {}
  void check_finite() override {}
  StepCounts counts() const override { return {}; }

 private:
  void spin() const {
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::duration<double>(seconds_)) {
    }
  }

  double seconds_;
  bool cold_ = true;
};

Row row(const std::string& name, const std::function<std::unique_ptr<Task>()>& make) {
  return {.name = name, .subject = name, .make = [make](const Row&) { return make(); }};
}

std::unique_ptr<Task> make_memnet() {
  const auto& memnet = models::workload("memnet");
  return make_model_task(memnet, {.mode = models::Mode::kInfer, .batch = memnet.batch});
}

/// A matrix product of about 5 us.
std::unique_ptr<Task> make_short_op() {
  const auto rows = ops::parse_shapes(
      R"({"workload": "harness", "rows": [
          {"op": "matmul", "layer": "short", "pass": "forward", "count": 1, "m": 64,
           "n": 64, "k": 48}]})",
      "harness");
  return make_op_task(rows[0], {});
}

void bare(benchmark::State& state, Task& task) {
  fixtures::set_threads(1);
  task.warm_up_step();
  Task* step = &task;
  benchmark::DoNotOptimize(step);  // a virtual call here, too
  for (auto unused : state) step->run();
}

}  // namespace
}  // namespace fathom::benchmarks

int main(int argc, char** argv) {
  using namespace fathom::benchmarks;
  benchmark::Initialize(&argc, argv);
  Peaks peaks;
  Loop loop(peaks, [](const Row&, const char*) {});
  const std::vector<Row> rows{
      row("harness/one_step_a_sample", [] { return std::make_unique<EmptyTask>(1e-3); }),
      row("harness/many_steps_a_sample", [] { return std::make_unique<EmptyTask>(0); }),
      row("harness/short_op", make_short_op), row("harness/memnet_infer", make_memnet)};
  const auto add = [](const std::string& name, auto body) {
    benchmark::RegisterBenchmark(name.c_str(), body)->MeasureProcessCPUTime()->UseRealTime();
  };
  EmptyTask empty(0);
  const auto short_op = make_short_op();
  const auto memnet = make_memnet();
  add("bare/empty", [&empty](benchmark::State& state) { bare(state, empty); });
  add("bare/short_op", [&short_op](benchmark::State& state) { bare(state, *short_op); });
  add("bare/memnet_infer", [&memnet](benchmark::State& state) { bare(state, *memnet); });
  std::vector<RowRecord> records(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    add(rows[i].name, [&, i](benchmark::State& state) { loop.run(state, rows[i], records[i]); });
  }
  benchmark::RunSpecifiedBenchmarks();
}
