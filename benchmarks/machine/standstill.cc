#include "benchmarks/machine/standstill.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace fathom::benchmarks {
namespace {

constexpr double kShortest = 0.02;  // seconds; less may be a late timer or a page fault

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The value in the middle; of an even number, the lower or the upper one.
double median(std::vector<double> values, bool upper) {
  const auto middle = (std::ssize(values) - (upper ? 0 : 1)) / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  return values[static_cast<std::size_t>(middle)];
}

}  // namespace

double standstill(std::span<const Stretch> timed, const Stretch& usual, double taken, bool waits) {
  constexpr double kTwice = 2;
  std::vector<double> step_seconds;
  std::vector<double> busy_cores;
  const auto add = [&](const Stretch& one) {
    if (one.steps <= 0 || one.seconds <= 0) return;
    step_seconds.push_back(one.seconds / static_cast<double>(one.steps));
    busy_cores.push_back(one.cpu_seconds / one.seconds);
  };
  add(usual);
  for (const auto& one : timed) add(one);
  if (step_seconds.empty()) return 0;
  // A standstill makes steps longer and cores less busy.
  const double step = median(step_seconds, /*upper=*/false);
  const double cores = median(busy_cores, /*upper=*/true);
  double all = 0;
  for (const auto& one : timed) {
    const double expected = step * static_cast<double>(one.steps);
    if (waits && one.seconds <= kTwice * expected) continue;
    const double explained = cores > 0 ? one.cpu_seconds / cores : 0;
    const double still = one.seconds - std::max(expected, explained);
    if (still >= kShortest) all += still;
  }
  return std::max(0.0, all - taken);
}

double least_standstill(const Stretch& work, double taken) {
  const double still = work.seconds - work.cpu_seconds - taken;
  return still >= kShortest ? still : 0;
}

bool is_long_standstill(double standstill, double seconds) {
  constexpr double kLong = 0.05;
  return standstill > kLong * seconds;
}

// CLOCK_BOOTTIME: CLOCK_MONOTONIC stops while the machine sleeps.
ProcessTimer::ProcessTimer()
    : begin_(seconds_of(CLOCK_BOOTTIME)), cpu_begin_(seconds_of(CLOCK_PROCESS_CPUTIME_ID)) {}

Stretch ProcessTimer::stretch(int64_t steps) const {
  return {.steps = steps,
          .seconds = seconds_of(CLOCK_BOOTTIME) - begin_,
          .cpu_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin_};
}

std::span<const Stretch> Stretches::end() {
  if (steps_ > 0) close();
  return all_;
}

void Stretches::close() {
  all_.push_back(timer_.stretch(std::exchange(steps_, 0)));
  seconds_ = 0;
  timer_ = ProcessTimer();
}

}  // namespace fathom::benchmarks
