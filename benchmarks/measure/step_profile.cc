#include "benchmarks/measure/step_profile.h"

#include <algorithm>
#include <ctime>
#include <functional>

namespace fathom::benchmarks {
namespace {

/// The CPU time that the process takes for `work`.
template <typename Work>
double cpu_seconds_of(const Work& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

}  // namespace

std::optional<double> gpu_busy_pct(const StepProfile& profile, double step_us) {
  if (!profile.ops.gpu_seconds) return std::nullopt;
  return 100 * *profile.ops.gpu_seconds * 1e6 / static_cast<double>(profile.steps) / step_us;
}

void set_step_time(StepProfile& profile, double step_us) {
  ops::Profile& all = profile.ops;
  if (!all.gpu_seconds) return;
  const double seconds =
      std::max(*all.gpu_seconds, step_us * 1e-6 * static_cast<double>(profile.steps));
  for (auto& op : all.ops) {
    if (op.type == "framework") op.seconds += seconds - all.seconds;
  }
  profile.cpu_seconds *= seconds / all.seconds;
  all.seconds = seconds;
  std::ranges::sort(all.ops, std::greater{}, &ops::OpTime::seconds);
}

std::optional<StepProfile> profile_steps(Task& task, fixtures::Device device, int64_t steps,
                                         bool singly) {
  const auto run = [&](int64_t count) {
    for (int64_t step = 0; step < count; ++step) task.run();
    fixtures::synchronize(device);
  };
  StepProfile profile{.steps = steps, .cpu_seconds = 0, .ops = {}, .series = {}};
  if (device == fixtures::Device::kCuda) {
    // Kineto's own work before and after the steps takes longer than they do.
    const auto found =
        ops::gpu_profile([&] { profile.cpu_seconds = cpu_seconds_of([&] { run(steps); }); });
    if (!found) return std::nullopt;
    profile.ops = *found;
  } else if (singly) {
    profile.cpu_seconds = cpu_seconds_of([&] {
      for (int64_t step = 0; step < steps; ++step) {
        profile.series.push_back(ops::profile([&] { run(1); }));
      }
    });
    profile.ops = ops::sum(profile.series);
  } else {
    profile.cpu_seconds = cpu_seconds_of([&] { profile.ops = ops::profile([&] { run(steps); }); });
  }
  return profile;
}

}  // namespace fathom::benchmarks
