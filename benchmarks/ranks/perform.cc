#include "benchmarks/ranks/perform.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace fathom::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

/// The median time of a local step, in seconds. The ranks begin together and then do not wait for
/// each other.
double time_local_steps(RankTask& task, int64_t steps) {
  std::vector<double> seconds;
  task.group().barrier();
  for (int64_t i = 0; i < steps; ++i) {
    const auto begin = Clock::now();
    task.run_local();
    fixtures::synchronize(task.device());
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  const auto middle = seconds.begin() + std::ssize(seconds) / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

}  // namespace

double perform(RankTask& task, const Command& command) {
  switch (command.order) {
    case Order::kSteps:
      task.group().barrier();
      for (int64_t i = 0; i < command.number; ++i) task.run();
      fixtures::synchronize(task.device());
      return 0;
    case Order::kLocalSteps:
      return time_local_steps(task, command.number);
    case Order::kCheck:
      task.check();
      return 0;
    case Order::kCheckFinite:
      task.check_finite();
      return 0;
    case Order::kCheckRanks:
      task.check_ranks();
      return 0;
    case Order::kWatch:
      task.watch(command.number);
      return 0;
    case Order::kEqualize:
      task.equalize();
      return 0;
    default:
      throw std::logic_error("no work of a task");
  }
}

}  // namespace fathom::benchmarks
