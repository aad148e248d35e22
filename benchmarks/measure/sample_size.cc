#include "benchmarks/measure/sample_size.h"

#include <algorithm>
#include <cmath>

namespace fathom::benchmarks {

int64_t steps_per_sample(double shortest, const Burst& burst) {
  constexpr int64_t kMaxSteps = 1'000'000;
  constexpr int64_t kGrowth = 10;  // at most, because a short burst is mostly its wait
  int64_t steps = 1;
  while (steps < kMaxSteps) {
    const double seconds = burst(steps);
    if (seconds >= shortest) break;
    const double wanted = std::ceil(static_cast<double>(steps) * shortest / seconds);
    steps = wanted < static_cast<double>(kGrowth * steps)
                ? std::max(steps + 1, static_cast<int64_t>(wanted))
                : kGrowth * steps;
  }
  return std::min(steps, kMaxSteps);
}

bool bound_percentile(int64_t samples, double share) {
  constexpr double kDoubt = 0.05;
  return std::pow(share, static_cast<double>(samples)) <= kDoubt;
}

}  // namespace fathom::benchmarks
