#include "benchmarks/measure/step_profile.h"

#include <ctime>

namespace fathom::benchmarks {

StepProfile profile_steps(Task& task, fixtures::Device device, int64_t steps, bool singly) {
  const auto run = [&](int64_t count) {
    for (int64_t step = 0; step < count; ++step) task.run();
    fixtures::synchronize(device);
  };
  const std::clock_t begin = std::clock();
  StepProfile profile{.steps = steps, .cpu_seconds = 0, .ops = {}, .series = {}};
  if (singly) {
    for (int64_t step = 0; step < steps; ++step) {
      profile.series.push_back(ops::profile([&] { run(1); }));
    }
    profile.ops = ops::sum(profile.series);
  } else if (device == fixtures::Device::kCpu) {
    profile.ops = ops::profile([&] { run(steps); });
  } else {
    profile.ops = ops::gpu_profile([&] { run(steps); });
  }
  profile.cpu_seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return profile;
}

}  // namespace fathom::benchmarks
