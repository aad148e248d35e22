#include "benchmarks/measure/loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <exception>

#include "benchmarks/machine/disturbances.h"
#include "benchmarks/machine/energy.h"
#include "benchmarks/machine/gpu_time.h"
#include "benchmarks/machine/nvml.h"
#include "benchmarks/machine/peak_memory.h"

namespace fathom::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// A step longer than Google Benchmark's minimum time would be reported from a single try.
constexpr int kLeastSamples = 3;
constexpr double kSingleSampleSeconds = 20;
constexpr std::size_t kLeastForPercentiles = 5;

// Two clock reads cost some 50 ns: 0.25 % of a sample at most. A GPU sample also pays one
// synchronisation and two events.
constexpr double kShortestSample = 20e-6;
constexpr double kShortestGpuSample = 1e-3;

// Warm-up ends when a step is no longer faster than the best before it by more than this.
constexpr double kSteady = 0.02;
constexpr double kLeastWarmUp = 0.05;
constexpr double kMostWarmUp = 60;
constexpr int kMostWarmUpSteps = 10;
constexpr double kLongSteps = 1;  // seconds from which kMostWarmUpSteps are enough

// Watched steps after each pass of a row whose ops are asked for.
constexpr double kProfileSeconds = 0.3;
constexpr int64_t kMostProfiledSteps = 1000;

/// The value that `share` of the sorted samples do not exceed (nearest rank).
double percentile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

/// Those of one row; none before its first.
template <typename Pass>
const std::vector<Pass>& passes(const std::map<std::string, std::vector<Pass>>& rows,
                                const std::string& name) {
  static const std::vector<Pass> none;
  const auto found = rows.find(name);
  return found == rows.end() ? none : found->second;
}

void set(benchmark::State& state, const std::string& name, double value,
         benchmark::Counter::Flags flags = benchmark::Counter::kDefaults) {
  if (std::isfinite(value)) state.counters[name] = benchmark::Counter(value, flags);
}

void set(benchmark::State& state, const Counters& counters) {
  for (const auto& [name, value] : counters) set(state, name, value);
}

void set_rate(benchmark::State& state, const std::string& name, double a_step) {
  set(state, name, a_step, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

void Loop::run(benchmark::State& state, const Row& row) {
  try {
    if (row.memory != nullptr && !memory_.contains(row.name)) weigh(row);
    prepare(row);
    stage_(row, "timing");
    const PeakMemory memory(row.device);
    Samples samples = time(state, row);
    if (const auto bytes = memory.bytes()) set(state, "peak_memory_bytes", *bytes);
    count(state, row, samples);
    const double median_us = percentile(sorted(samples.us), 0.50);
    const int64_t timed_steps = std::ssize(samples.us) * samples.steps_per_sample;
    if (row.samples) samples_[row.name].push_back(std::move(samples));
    task_->check_finite();
    if (row.memory != nullptr) set(state, memory_.at(row.name));
    if (row.watch != Watch::kNothing) watch(state, row, timed_steps);
    medians_us_[row.name].push_back(median_us);
  } catch (const std::exception& error) {
    forget();
    std::string reason = error.what();
    state.SkipWithError(
        reason.substr(0, reason.find('\n')).c_str());  // LibTorch appends a backtrace
  }
}

const std::vector<StepProfile>& Loop::profiles(const std::string& name) const {
  return passes(profiles_, name);
}

const std::vector<ops::ShapeProfile>& Loop::shapes(const std::string& name) const {
  return passes(shapes_, name);
}

const std::vector<double>& Loop::medians_us(const std::string& name) const {
  return passes(medians_us_, name);
}

std::vector<Samples> Loop::take_samples(const std::string& name) {
  auto node = samples_.extract(name);
  return node.empty() ? std::vector<Samples>{} : std::move(node.mapped());
}

/// On a task of its own, since only what is watched from its making can be told apart.
void Loop::weigh(const Row& row) {
  forget();
  stage_(row, "measuring memory of");
  fixtures::set_threads(row.threads);
  memory_[row.name] = row.memory();
}

void Loop::prepare(const Row& row) {
  fixtures::set_threads(row.threads);
  if (row.subject != subject_) {
    forget();
    stage_(row, "building");
    task_ = row.make();
    subject_ = row.subject;
  }
  if (row.threads == warm_threads_) return;
  task_->threads_changed();
  stage_(row, "warming up");
  warm_up(row);
  warm_threads_ = row.threads;
}

void Loop::warm_up(const Row& row) {
  first_seconds_ = step_seconds(row, /*rehearse=*/false);
  task_->check();
  double spent = 0;
  steady_seconds_ = first_seconds_;
  for (int step = 1;; ++step) {
    const double now = step_seconds(row, /*rehearse=*/true);
    spent += now;
    const bool steady = now >= (1 - kSteady) * steady_seconds_ && spent >= kLeastWarmUp;
    steady_seconds_ = std::min(steady_seconds_, now);
    if (steady || spent >= kMostWarmUp || (step >= kMostWarmUpSteps && spent >= kLongSteps)) return;
  }
}

double Loop::step_seconds(const Row& row, bool rehearse) {
  const auto begin = Clock::now();
  if (rehearse) {
    task_->rehearse();
  } else {
    task_->run();
  }
  fixtures::synchronize(row.device);
  return seconds(Clock::now() - begin);
}

Samples Loop::time(benchmark::State& state, const Row& row) {
  const double shortest =
      row.device == fixtures::Device::kCpu ? kShortestSample : kShortestGpuSample;
  const auto steps = static_cast<int64_t>(std::ceil(shortest / std::max(steady_seconds_, 1e-9)));
  const int least = steady_seconds_ > kSingleSampleSeconds ? 1 : kLeastSamples;
  Samples samples{.steps_per_sample = steps, .us = {}, .gpu_us = {}};
  GpuTime gpu(row.device);
  Disturbances disturbances;
  const Energy energy(row.device);
  samples.us.reserve(static_cast<std::size_t>(state.max_iterations / steps + least));
  Task& task = *task_;
  while (state.KeepRunningBatch(least * steps)) {
    auto begin = Clock::now();
    for (int sample = 0; sample < least; ++sample) {
      gpu.begin();
      for (int64_t step = 0; step < steps; ++step) task.run();
      gpu.end();
      fixtures::synchronize(row.device);
      const auto end = Clock::now();
      gpu.add();
      samples.us.push_back(seconds(end - begin) * 1e6 / static_cast<double>(steps));
      disturbances.add(steps, seconds(end - begin));
      begin = end;
    }
  }
  const auto timed = static_cast<double>(steps * std::ssize(samples.us));
  if (const auto spent = gpu.seconds()) samples.gpu_us = *spent * 1e6 / timed;
  if (const auto spent = energy.joules()) set(state, "energy_j", *spent / timed);
  if (const auto steps_hit = disturbances.steps()) {
    set(state, "disturbed_steps", static_cast<double>(*steps_hit));
  }
  if (row.device == fixtures::Device::kCuda && Nvml::get() != nullptr) {
    if (const auto throttled = Nvml::get()->throttled())
      set(state, "gpu_throttled", *throttled ? 1 : 0);
  }
  return samples;
}

void Loop::count(benchmark::State& state, const Row& row, const Samples& samples) {
  const Figures figures = task_->figures();
  if (figures.items) set_rate(state, "items_per_second", *figures.items);
  if (figures.flops) {
    set_rate(state, "flops", *figures.flops);
    const double peak = peaks_.flops(row.device, row.threads, row.precision).rate;
    if (peak > 0) set_rate(state, "flops_pct_peak", 100 * *figures.flops / peak);
  }
  if (figures.bytes) {
    set_rate(state, "bytes", *figures.bytes);
    if (figures.working_set >= kBeyondCache * last_level_cache_bytes(row.device, row.threads)) {
      const double peak = peaks_.bytes(row.device, row.threads).rate;
      if (peak > 0) set_rate(state, "bytes_pct_peak", 100 * *figures.bytes / peak);
    }
  }
  if (row.op && row.op->in_steps) set(state, "in_steps", 1);
  set(state, figures.counters);
  if (!figures.label.empty()) state.SetLabel(figures.label);

  const std::vector<double> us = sorted(samples.us);
  set(state, "first_step_us", first_seconds_ * 1e6);
  set(state, "min_us", us.front());
  if (samples.gpu_us) set(state, "gpu_time_us", *samples.gpu_us);
  set(state, "steps_per_sample", static_cast<double>(samples.steps_per_sample));
  if (us.size() >= kLeastForPercentiles) {
    set(state, "p50_us", percentile(us, 0.50));
    set(state, "p95_us", percentile(us, 0.95));
  }
}

void Loop::watch(benchmark::State& state, const Row& row, int64_t timed_steps) {
  stage_(row, "profiling");
  const bool singly = row.samples && row.device == fixtures::Device::kCpu;
  const auto enough = std::llround(kProfileSeconds / std::max(steady_seconds_, 1e-9));
  const auto steps = std::clamp<int64_t>(singly ? std::max<int64_t>(enough, timed_steps) : enough,
                                         1, kMostProfiledSteps);
  if (row.watch == Watch::kShapes) {
    shapes_[row.name].push_back(ops::shape_profile([this] { task_->run(); }, steps));
    return;
  }
  const auto run = [&](int64_t count) {
    for (int64_t step = 0; step < count; ++step) task_->run();
    fixtures::synchronize(row.device);
  };
  const std::clock_t begin = std::clock();
  StepProfile profile{.steps = steps, .cpu_seconds = 0, .ops = {}, .series = {}};
  if (singly) {
    for (int64_t step = 0; step < steps; ++step) {
      profile.series.push_back(ops::profile([&] { run(1); }));
    }
    profile.ops = ops::sum(profile.series);
  } else if (row.device == fixtures::Device::kCpu) {
    profile.ops = ops::profile([&] { run(steps); });
  } else {
    profile.ops = ops::gpu_profile([&] { run(steps); });
  }
  profile.cpu_seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (const auto busy = profile.ops.gpu_seconds) {
    set(state, "gpu_busy_pct", 100 * *busy / profile.ops.seconds);
  }
  profiles_[row.name].push_back(std::move(profile));
  set(state, task_->phases_us(steps));
}

void Loop::forget() {
  task_.reset();
  subject_.clear();
  warm_threads_ = 0;
}

}  // namespace fathom::benchmarks
