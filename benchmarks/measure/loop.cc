#include "benchmarks/measure/loop.h"

#include <ATen/DeviceAccelerator.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include "benchmarks/machine/disturbances.h"
#include "benchmarks/machine/energy.h"
#include "benchmarks/machine/gpu/gpu_sampler.h"
#include "benchmarks/machine/gpu/gpu_time.h"
#include "benchmarks/machine/peak_memory.h"
#include "benchmarks/measure/sample_size.h"
#include "benchmarks/ranks/led_task.h"
#include "benchmarks/tasks/replaced.h"
#include "benchmarks/tasks/step_choice.h"
#include "fixtures/files/text.h"
#include "fixtures/machine/team.h"

namespace fathom::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// A step longer than Google Benchmark's minimum time would be reported from a single try.
constexpr int kMinSamples = 3;
constexpr double kSingleSampleSeconds = 20;

// Two clock reads cost some 50 ns, 0.25 % of this sample. A GPU sample also pays for two events and
// the wait for one.
constexpr double kShortestSample = 20e-6;
constexpr double kShortestGpuSample = 1e-3;

// Warm-up ends when a step is at most this share faster than the fastest one before it.
constexpr double kSteady = 0.02;
constexpr double kMinWarmUp = 0.05;
constexpr double kMaxWarmUp = 60;
constexpr int kMaxWarmUpSteps = 10;
constexpr double kLongSteps = 1;  // kMaxWarmUpSteps are enough where they took this many seconds

// Profiled steps after each pass.
constexpr double kProfileSeconds = 0.3;
constexpr int64_t kMaxProfiledSteps = 1000;
constexpr int64_t kMaxOperatorSteps = 8;  // each of the four batches twice

/// The value that `share` of the sorted samples do not exceed (nearest rank).
double percentile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

void set(benchmark::State& state, const std::string& name, double value,
         benchmark::Counter::Flags flags = benchmark::Counter::kDefaults) {
  if (std::isfinite(value)) state.counters[name] = benchmark::Counter(value, flags);
}

void set(benchmark::State& state, const Counters& counters) {
  for (const auto& [name, value] : counters) set(state, name, value);
}

void set(benchmark::State& state, const std::string& name, std::optional<double> value) {
  if (value) set(state, name, *value);
}

/// The number of repetitions before this pass. While Google Benchmark searches for a number of
/// iterations, that grows with every pass.
int64_t repetitions_before(const benchmark::State& state, const RowRecord& record) {
  return std::count_if(record.passes.begin(), record.passes.end(), [&](const TimedPass& pass) {
    return pass.iterations == state.max_iterations;
  });
}

/// The environment or a library may give a row fewer threads than its name says.
void expect_team_of(const Row& row) {
  if (row.device == fixtures::Device::kCpu) fixtures::expect_team(row.threads);
}

void set_rate(benchmark::State& state, const std::string& name, double a_step) {
  set(state, name, a_step, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

void Loop::run(benchmark::State& state, const Row& row, RowRecord& record) {
  if (record.failure || record.left_out) return skip(state, record);
  bool timed = false;
  try {
    if (row.memory != nullptr && !record.memory) record.memory = measure_memory(row);
    prepare(row);
    if (row.needs_replacement && replaces_nothing(task_->counts().label)) {
      record.left_out = true;
      return skip(state, record);
    }
    record.choice = task_->choice();
    stage_(row, "timing");
    const PeakMemory memory(row.device);
    const Batch batch = this->batch(record);
    Samples samples = time(state, row, batch);
    timed = true;
    expect_team_of(row);
    // LibTorch counts the memory of a graph's tensors only while it is captured.
    const bool graph = record.choice ? record.choice->cuda_graph : row.cuda_graph;
    if (!graph) set(state, "peak_memory_bytes", memory.bytes());
    set_counters(state, row, samples);
    TimedPass pass{.iterations = state.max_iterations,
                   .batch = batch,
                   .median_us = percentile(sorted(samples.us), 0.50),
                   .taken_us = samples.taken_us,
                   .samples = {},
                   .op_types = {},
                   .op_shapes = {},
                   .standstill = samples.standstill};
    const int64_t timed_steps = std::ssize(samples.us) * samples.steps_per_sample;
    if (row.samples) pass.samples = std::move(samples);
    task_->check_finite();
    set(state, task_->compare_ranks(pass.median_us));
    if (record.memory) set(state, *record.memory);
    // A replay of a graph calls no ops.
    if (row.profiling != Profiling::kNone && !graph) profile(state, row, timed_steps, pass);
    record.passes.push_back(std::move(pass));
  } catch (const std::exception& error) {
    forget();
    record.failure = {.reason = fixtures::first_line(error.what()),
                      .repetition = repetitions_before(state, record)};
    if (!timed || record.failure->repetition == 0) skip(state, record);
  }
}

/// Ends a pass that measures nothing. Google Benchmark 1.7.1 ends the process (in ComputeStats) if
/// one repetition of a row has an error and two others have none. So a pass after a measured
/// repetition has no error but as many iterations; the reporter drops the runs of the row.
void Loop::skip(benchmark::State& state, const RowRecord& record) const {
  if (record.left_out) return state.SkipWithError("left out");
  if (repetitions_before(state, record) == 0)
    return state.SkipWithError(record.failure->reason.c_str());
  while (state.KeepRunningBatch(record.passes.back().batch.iterations())) {
  }
}

/// On a new task: the memory log only knows tensors that were made while it recorded.
Counters Loop::measure_memory(const Row& row) {
  make_room(row);
  stage_(row, "measuring memory of");
  fixtures::set_threads(row.threads);
  return row.memory();
}

void Loop::prepare(const Row& row) {
  fixtures::set_threads(row.threads);
  if (row.subject != subject_) {
    make_room(row);
    if (row.ranks == 0 && crew_ != nullptr) crew_->rest();
    stage_(row, "building");
    task_ = row.ranks == 0 ? row.make(row) : make_led_task(*crew_, row);
    subject_ = row.subject;
  }
  expect_team_of(row);
  if (row.threads == warm_threads_) return;
  task_->threads_changed();
  stage_(row, "warming up");
  warm_up(row);
  sample_steps_ = sample_steps(row);
  warm_threads_ = row.threads;
}

void Loop::warm_up(const Row& row) {
  const auto seconds_of = [&](void (Task::*step)()) {
    task_->begin_steps(1);
    const auto begin = Clock::now();
    (*task_.*step)();
    fixtures::synchronize(row.device);
    return seconds(Clock::now() - begin);
  };
  first_seconds_ = seconds_of(&Task::run);
  task_->check();
  double spent = 0;
  steady_seconds_ = first_seconds_;
  const ProcessTimer timer;
  for (int step = 1;; ++step) {
    const double now = seconds_of(&Task::warm_up_step);
    spent += now;
    const bool steady = now >= (1 - kSteady) * steady_seconds_ && spent >= kMinWarmUp;
    steady_seconds_ = std::min(steady_seconds_, now);
    warm_up_ = timer.stretch(step);
    if (steady || spent >= kMaxWarmUp || (step >= kMaxWarmUpSteps && spent >= kLongSteps)) return;
  }
}

int64_t Loop::sample_steps(const Row& row) {
  if (row.device == fixtures::Device::kCpu) {
    return static_cast<int64_t>(std::ceil(kShortestSample / std::max(steady_seconds_, 1e-9)));
  }
  return steps_per_sample(kShortestGpuSample, [&](int64_t steps) {
    task_->begin_steps(steps);
    const auto begin = Clock::now();
    for (int64_t step = 0; step < steps; ++step) task_->run();
    fixtures::synchronize(row.device);
    return seconds(Clock::now() - begin);
  });
}

/// Between its repetitions, others may have run, for which the row's task is built again.
Batch Loop::batch(const RowRecord& record) const {
  if (!record.passes.empty()) return record.passes.back().batch;
  return {.samples = steady_seconds_ > kSingleSampleSeconds ? 1 : kMinSamples,
          .steps_per_sample = sample_steps_};
}

Samples Loop::time(benchmark::State& state, const Row& row, const Batch& batch) {
  const int64_t steps = batch.steps_per_sample;
  Samples samples{.steps_per_sample = steps, .us = {}};
  GpuTime gpu(row.device);
  const TakenTimer taken;
  Disturbances disturbances;
  Stretches stretches;
  const bool on_gpu = row.device == fixtures::Device::kCuda;
  const Energy energy(row.device);
  GpuSampler sampler(on_gpu ? Nvml::get() : nullptr);
  samples.us.reserve(static_cast<std::size_t>(state.max_iterations / steps + batch.samples));
  Task& task = *task_;
  const int64_t iterations = batch.iterations();
  task.begin_steps((state.max_iterations + iterations - 1) / iterations * iterations);
  while (state.KeepRunningBatch(iterations)) {
    for (int64_t sample = 0; sample < batch.samples; ++sample) {
      const auto begin = Clock::now();
      gpu.begin();
      for (int64_t step = 0; step < steps; ++step) task.run();
      gpu.end();
      gpu.wait();
      const auto end = Clock::now();
      gpu.add();
      samples.us.push_back(seconds(end - begin) * 1e6 / static_cast<double>(steps));
      disturbances.add(steps, seconds(end - begin));
      stretches.add(steps, seconds(end - begin));
    }
  }
  const auto timed_stretches = stretches.end();
  const GpuState& gpu_state = sampler.stop();
  const auto timed = static_cast<double>(steps * std::ssize(samples.us));
  const TakenTime seconds_taken = taken.seconds();
  if (seconds_taken.stolen) set(state, "stolen_us", *seconds_taken.stolen * 1e6 / timed);
  if (seconds_taken.waiting) set(state, "waiting_us", *seconds_taken.waiting * 1e6 / timed);
  if (const auto all = seconds_taken.all()) samples.taken_us = *all * 1e6 / timed;
  set_standstill(state, row, timed_stretches, seconds_taken.all().value_or(0), samples);
  if (const auto spent = gpu.seconds()) samples.gpu_us = *spent * 1e6 / timed;
  if (const auto spent = energy.joules()) set(state, "energy_j", *spent / timed);
  if (const auto steps_hit = disturbances.steps()) {
    set(state, "disturbed_steps", static_cast<double>(*steps_hit));
  }
  set(state, "gpu_power_w", gpu_state.power_w.value());
  set(state, "gpu_clock_mhz", gpu_state.clock_mhz.value());
  if (gpu_state.throttle_samples > 0) {
    set(state, "gpu_throttled", gpu_state.throttles.empty() ? 0 : 1);
  }
  for (const auto& [reason, samples_with_it] : gpu_state.throttles) {
    const std::string name = "gpu_throttled_" + std::string(reason) + "_pct";
    set(state, name, 100.0 * samples_with_it / gpu_state.throttle_samples);
  }
  return samples;
}

/// Counts a long standstill as time that others took.
void Loop::set_standstill(benchmark::State& state, const Row& row, std::span<const Stretch> timed,
                          double taken, Samples& samples) const {
  const bool waits = row.device == fixtures::Device::kCuda || row.ranks > 0;
  const double still = standstill(timed, warm_up_, taken, waits);
  double all = 0;
  for (const auto& one : timed) all += one.seconds;
  if (!is_long_standstill(still, all)) return;
  const double us =
      still * 1e6 / static_cast<double>(samples.steps_per_sample * std::ssize(samples.us));
  set(state, "standstill_us", us);
  samples.taken_us = samples.taken_us.value_or(0) + us;
  samples.standstill = still;
}

void Loop::run_all(std::span<const Row> rows, std::span<RowRecord> records,
                   benchmark::BenchmarkReporter& reporter) {
  benchmark::ClearRegisteredBenchmarks();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    benchmark::RegisterBenchmark(rows[i].name.c_str(),
                                 [this, &row = rows[i], &record = records[i]](
                                     benchmark::State& state) { run(state, row, record); })
        ->MeasureProcessCPUTime()
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
  // The rows are filtered already. With "^" Google Benchmark skips a search that is quadratic in
  // the number of rows.
  benchmark::SetBenchmarkFilter("^");
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::ClearRegisteredBenchmarks();
}

void Loop::set_counters(benchmark::State& state, const Row& row, const Samples& samples) {
  const StepCounts counts = task_->counts();
  if (counts.items) set_rate(state, "items_per_second", *counts.items);
  if (counts.flops) {
    set_rate(state, "flops", *counts.flops);
    const double peak = peaks_.flops(row.device, row.threads * row.ranks_here, row.precision).rate *
                        std::max(row.ranks, 1) / row.ranks_here;
    if (peak > 0) set_rate(state, "flops_pct_peak", 100 * *counts.flops / peak);
  }
  if (counts.bytes) {
    set_rate(state, "bytes", *counts.bytes);
    if (counts.working_set >= kBeyondCache * last_level_cache_bytes(row.device, row.threads)) {
      const double peak = peaks_.bytes(row.device, row.threads).rate;
      if (peak > 0) set_rate(state, "bytes_pct_peak", 100 * *counts.bytes / peak);
    }
  }
  if (row.op && row.op->in_steps) set(state, "in_steps", 1);
  for (const auto& [name, a_step] : counts.rates) set_rate(state, name, a_step);
  if (!counts.milliseconds.empty()) {
    set(state, counts.milliseconds, 1e-3,
        benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  }
  set(state, counts.counters);
  if (!counts.label.empty()) state.SetLabel(counts.label);

  const std::vector<double> us = sorted(samples.us);
  set(state, "first_step_us", first_seconds_ * 1e6);
  set(state, "min_us", us.front());
  if (samples.gpu_us) set(state, "gpu_time_us", *samples.gpu_us);
  set(state, "steps_per_sample", static_cast<double>(samples.steps_per_sample));
  for (const auto& [name, share] : {std::pair("p50_us", 0.50), std::pair("p95_us", 0.95)}) {
    if (bound_percentile(std::ssize(us), share)) set(state, name, percentile(us, share));
  }
}

void Loop::profile(benchmark::State& state, const Row& row, int64_t timed_steps, TimedPass& pass) {
  stage_(row, "profiling");
  const ProcessTimer timer;
  const TakenTimer taken;
  record_profile(state, row, timed_steps, pass);
  if (row.device == fixtures::Device::kCuda || row.ranks > 0) return;
  const Stretch all = timer.stretch(1);
  const double still = least_standstill(all, taken.seconds().all().value_or(0));
  if (is_long_standstill(still, all.seconds)) pass.standstill += still;
}

void Loop::record_profile(benchmark::State& state, const Row& row, int64_t timed_steps,
                          TimedPass& pass) {
  const bool singly = row.samples && row.device == fixtures::Device::kCpu;
  const auto enough = std::llround(kProfileSeconds / std::max(steady_seconds_, 1e-9));
  const auto steps = std::clamp<int64_t>(singly ? std::max<int64_t>(enough, timed_steps) : enough,
                                         1, kMaxProfiledSteps);
  if (row.profiling == Profiling::kOpShapes) {
    if (row.device == fixtures::Device::kCuda) {
      const auto step = [&] {
        task_->run();
        fixtures::synchronize(row.device);
      };
      pass.op_shapes = ops::gpu_shape_profile(step, steps);
      if (!pass.op_shapes) return warn_of_missing_profile();
      const int64_t few = std::min(steps, kMaxOperatorSteps);
      auto found = ops::gpu_operator_times([&] {
        for (int64_t i = 0; i < few; ++i) step();
      });
      if (found) pass.operators = {.steps = few, .all = std::move(*found)};
      return;
    }
    const TakenTimer taken;
    double runs = 0;  // one more than `steps`
    const auto step = [&] {
      task_->run();
      ++runs;
    };
    pass.op_shapes = ops::shape_profile(step, steps);
    if (const auto all = taken.seconds().all()) pass.profile_taken_us = *all * 1e6 / runs;
    const int64_t few = std::min(steps, kMaxOperatorSteps);
    pass.operators = {.steps = few, .all = ops::operator_times([&] {
                                      for (int64_t i = 0; i < few; ++i) task_->run();
                                    })};
    return;
  }
  pass.op_types = profile_steps(*task_, row.device, steps, singly);
  if (pass.op_types) {
    set(state, "gpu_busy_pct", gpu_busy_pct(*pass.op_types, pass.median_us));
    set_step_time(*pass.op_types, pass.median_us);
  } else {
    warn_of_missing_profile();
  }
  set(state, task_->phases_us(steps));
}

void Loop::warn_of_missing_profile() {
  if (std::exchange(warned_, true)) return;
  conditions_.data.warn(
      "LibTorch's profiler records no work of the GPU, so its times are left out. Another profiler "
      "may use the GPU, or LibTorch has no CUPTI");
}

/// LibTorch keeps the GPU memory of earlier rows. Where one of them has filled it, CUDA could not
/// load the kernels that this row calls first ("Lazy Loading" in the CUDA Programming Guide).
void Loop::make_room(const Row& row) {
  forget();
  if (row.device == fixtures::Device::kCuda) at::accelerator::emptyCache();
}

void Loop::forget() {
  task_.reset();
  subject_.clear();
  warm_threads_ = 0;
}

}  // namespace fathom::benchmarks
