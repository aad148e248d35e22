#include "ops/backends/operators/timed_kernels.h"

#include <algorithm>
#include <cmath>

namespace fathom::ops {
namespace {

// Timed runs of each kernel that make a choice certain, or two that took long enough. The run
// before them prepares the kernel.
constexpr int kTimedRuns = 5;
constexpr double kEnoughSeconds = 0.02;

}  // namespace

void TimedKernels::Kernel::add(Clock::duration taken) {
  if (runs++ == 0) return;
  const double seconds_taken = std::chrono::duration<double>(taken).count();
  seconds = std::min(seconds, seconds_taken);
  spent += seconds_taken;
}

std::vector<TimedKernels::Kernel>::iterator TimedKernels::next(bool turns) {
  return std::min_element(kernels_.begin(), kernels_.end(), [&](const Kernel& a, const Kernel& b) {
    return turns ? a.runs < b.runs : a.seconds < b.seconds;
  });
}

bool TimedKernels::undecided() const {
  return kernels_.size() > 1 &&
         std::any_of(kernels_.begin(), kernels_.end(), [](const Kernel& kernel) {
           return kernel.runs <= 2 || (kernel.runs <= kTimedRuns && kernel.spent < kEnoughSeconds);
         });
}

std::map<int, double> TimedKernels::seconds() const {
  std::map<int, double> all;
  for (const auto& kernel : kernels_) {
    if (std::isfinite(kernel.seconds)) all[kernel.number] = kernel.seconds;
  }
  return all;
}

}  // namespace fathom::ops
