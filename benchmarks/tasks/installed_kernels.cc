#include "benchmarks/tasks/installed_kernels.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "benchmarks/machine/standstill.h"
#include "benchmarks/tasks/first_steps.h"
#include "fixtures/machine/device.h"
#include "ops/core/check.h"
#include "ops/profiler/flops.h"

namespace fathom::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The results of the first steps on LibTorch's kernels.
struct Expected {
  std::vector<StepResults> steps;
  std::vector<StepResults> rounded;  ///< after round_weights()
  std::optional<double> flops;       ///< of a step
  bool has_convolutions;
};

/// Without results in a quantised precision, whose differences are larger than rounding:
/// distance_to_fp32() tells them.
Expected on_libtorch(const models::WorkloadRow& row, const models::StepOptions& options) {
  Expected made;
  {
    models::Step step(row, options);
    made.has_convolutions = step.has_convolutions();
    if (fixtures::is_quantized(options.precision)) return made;
    const auto counted = ops::count_flops([&] { made.steps = first_steps(step); });
    made.flops = counted.flops / kComparedSteps;
  }
  models::Step step(row, options);
  round_weights(step);
  made.rounded = first_steps(step);
  return made;
}

/// Steps in one layout.
struct Trial {
  models::Layout layout;
  bool cuda_graph = false;  ///< whether the timed step was captured as one
  std::vector<StepResults> first = {};
  ops::Round round = {};  ///< a step on each batch
  double us = 0;          ///< of a step on the fastest kernels so far
};

/// Runs the steps of trials. A step holds gigabytes, so there is one at a time.
class Trials {
 public:
  /// With `cuda_graph`, steps are timed as CUDA graphs where they can be captured.
  Trials(ops::KernelSet& kernels, const models::WorkloadRow& row,
         const models::StepOptions& options, bool cuda_graph)
      : kernels_(kernels), row_(row), options_(options), cuda_graph_(cuda_graph) {}

  /// Captures the step of the last trial if graphs are wanted and possible.
  void capture(Trial& trial) {
    if (!cuda_graph_) return;
    try {
      step_->capture();
      trial.cuda_graph = true;
    } catch (const std::runtime_error&) {
      build(trial.layout);
      for (int i = 0; i < models::kBatches; ++i) step_->run();
    }
  }

  Trial run_each_batch(models::Layout layout) {
    build(layout);
    Trial trial{.layout = layout, .first = first_steps(*step_)};
    for (int i = kComparedSteps; i < models::kBatches; ++i) step_->run();
    trial.round = kernels_.end_round();
    return trial;
  }

  /// Microseconds of a step in the layout of the last trial, on the fastest kernels so far.
  double step_us() {
    constexpr double kMinSeconds = 0.1;
    kernels_.take_turns(false);
    const double us = fastest_us([&] {
      const TakenTimer taken;
      const ProcessTimer process;
      const auto begin = Clock::now();
      double steps = 0;
      do {
        step_->run();
        fixtures::synchronize(options_.device);
        ++steps;
      } while (seconds_since(begin) < kMinSeconds);
      const double seconds = seconds_since(begin);
      double taken_seconds = taken.seconds().all().value_or(0);
      if (options_.device == fixtures::Device::kCpu)  // on a GPU the process may sleep
        taken_seconds += least_standstill(process.stretch(1), taken_seconds);
      return Timing{.us = seconds / steps * 1e6, .taken_us = taken_seconds / steps * 1e6};
    });
    kernels_.take_turns(true);
    return us;
  }

  /// Runs further steps until all kernels are timed often enough. Starts none after some seconds.
  void decide(const Trial& trial) {
    constexpr double kMaxSeconds = 5;
    if (!trial.round.undecided) return;
    if (step_->options().layout != trial.layout) build(trial.layout);
    const auto begin = Clock::now();
    do {
      for (int i = 0; i < models::kBatches; ++i) {
        if (seconds_since(begin) >= kMaxSeconds) return;
        step_->run();
      }
    } while (kernels_.end_round().undecided);
  }

 private:
  void build(models::Layout layout) {
    step_.reset();
    options_.layout = layout;
    step_.emplace(row_, options_);
    kernels_.end_round();  // what a step prepares is no part of it
  }

  ops::KernelSet& kernels_;
  const models::WorkloadRow& row_;
  models::StepOptions options_;
  bool cuda_graph_;
  std::optional<models::Step> step_;
};

/// Warns where the step does not run what an earlier choice says, because that was edited or is of
/// other arguments.
void warn_of_unused(const StepChoice& recorded, const std::vector<ops::ChosenKernel>& ran,
                    const fixtures::MessageCallback& warn) {
  const auto runs = [&](const ops::ChosenKernel& one) {
    return std::any_of(ran.begin(), ran.end(), [&](const ops::ChosenKernel& other) {
      return one.op == other.op && one.call == other.call && one.kernel == other.kernel;
    });
  };
  std::string first;
  int unused = 0;
  for (const auto& one : recorded.kernels) {
    if (!runs(one) && ++unused == 1) first = one.op + ' ' + one.call + " on " + one.kernel;
  }
  if (unused == 0) return;
  warn("--fathom_kernel_choice: the step does not run " + std::to_string(unused) + " of " +
       std::to_string(recorded.kernels.size()) + " kernels of its choice, the first is " + first);
}

/// Chooses the layout and the kernels. Returns the trial of the layout. Images with the channels
/// last are almost always faster, so they come first. The other layout must be clearly faster. It
/// is not tried where steps are so long that this could take more than half a minute.
Trial choose(Trials& steps, Trial first, models::Layout other_layout) {
  constexpr double kLongUs = 2e6;
  constexpr double kClearlyFaster = 0.97;
  steps.capture(first);
  if (first.layout != other_layout) {
    first.us = steps.step_us();
    if (first.us < kLongUs) {
      Trial other = steps.run_each_batch(other_layout);
      steps.capture(other);
      other.us = steps.step_us();
      if (other.us < kClearlyFaster * first.us) first = std::move(other);
    }
  }
  steps.decide(first);
  return first;
}

}  // namespace

double fastest_us(const std::function<Timing()>& time_step) {
  constexpr int kMaxTimings = 3;
  constexpr double kLongUs = 1e6;
  double fastest = std::numeric_limits<double>::infinity();
  for (int timings = 1; timings <= kMaxTimings; ++timings) {
    const Timing step = time_step();
    fastest = std::min(fastest, step.us);
    const bool enough = timings > 1 || step.us >= kLongUs;
    if (enough && !step.disturbed()) break;
  }
  return fastest;
}

InstalledKernels install(ops::KernelSet& kernels, const models::WorkloadRow& row,
                         const models::StepOptions& options, bool cuda_graph,
                         const StepChoice* recorded) {
  const Expected expected = on_libtorch(row, options);
  kernels.install(recorded != nullptr ? &recorded->kernels : nullptr);
  Trials steps(kernels, row, options, cuda_graph);
  const bool chooses = kernels.chooses() && recorded == nullptr;
  models::Layout layout = recorded != nullptr ? recorded->layout : options.layout;
  if (chooses && expected.has_convolutions) layout = models::Layout::kChannelsLast;
  Trial trial = steps.run_each_batch(layout);
  double seconds = 0;
  if (chooses) {
    const auto begin = Clock::now();
    trial = choose(steps, std::move(trial), options.layout);
    seconds = seconds_since(begin);
  }
  if (!expected.steps.empty())
    expect_same_results(expected.steps, expected.rounded, trial.first, options.precision);
  InstalledKernels installed{.flops = expected.flops};
  StepChoice choice{.layout = trial.layout,
                    .cuda_graph = recorded != nullptr ? recorded->cuda_graph : trial.cuda_graph,
                    .seconds = seconds};
  choice.kernels = kernels.end_choice(trial.round.number);
  if (recorded != nullptr) warn_of_unused(*recorded, choice.kernels, options.data.warn);
  if (kernels.chooses()) installed.choice = std::make_shared<const StepChoice>(std::move(choice));
  return installed;
}

double distance_to_fp32(const models::WorkloadRow& row, const models::StepOptions& options) {
  const auto result = [&](fixtures::Precision precision) {
    models::StepOptions own = options;
    own.precision = precision;
    models::Step step(row, own);
    step.forward();
    return step.result().detach().to(at::kCPU, /*non_blocking=*/false, /*copy=*/true);
  };
  const at::Tensor exact = result(fixtures::Precision::kFp32);
  return ops::relative_distance(result(options.precision), exact);
}

double compare_steps(const models::WorkloadRow& expected, const models::WorkloadRow& row,
                     const models::StepOptions& options) {
  const Expected on_kernels = on_libtorch(expected, options);
  models::Step step(row, options);
  expect_same_results(on_kernels.steps, on_kernels.rounded, first_steps(step), options.precision);
  return on_kernels.flops.value();
}

}  // namespace fathom::benchmarks
