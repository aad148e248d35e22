#include "benchmarks/machine/disturbances.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "fixtures/machine/cpus.h"

namespace fathom::benchmarks {
namespace {

namespace fs = std::filesystem;

/// Preemptions of all threads of this process, ended ones included.
long involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

/// Nanoseconds for which each thread of this process was runnable and waited for a CPU. Empty where
/// the kernel does not report it.
std::map<std::string, double> run_delays(const fs::path& root) {
  std::map<std::string, double> delays;
  std::error_code absent;
  for (const auto& task : fs::directory_iterator(root / "proc/self/task", absent)) {
    std::ifstream file(task.path() / "schedstat");
    double running = 0;
    double waiting = 0;
    double time_slices = 0;
    // A kernel without these statistics prints zeros.
    if (file >> running >> waiting >> time_slices && time_slices > 0) {
      delays[task.path().filename()] = waiting;
    }
  }
  return delays;
}

}  // namespace

Disturbances::Disturbances(fs::path root)
    : root_(std::move(root)),
      cpus_(fixtures::usable_cpus()),
      switches_(involuntary_switches()),
      ticks_(cpu_ticks(root_, cpus_)) {}

std::optional<int64_t> Disturbances::steps() {
  check();
  check_steal();
  return ticks_ ? std::optional(disturbed_) : std::nullopt;
}

void Disturbances::check() {
  const long switches = involuntary_switches();
  if (std::exchange(switches_, switches) != switches) interrupted_ += steps_;
  window_steps_ += std::exchange(steps_, 0);
  window_seconds_ += std::exchange(seconds_, 0);
  if (window_seconds_ >= kCheckSteal) check_steal();
}

void Disturbances::check_steal() {
  const auto ticks = cpu_ticks(root_, cpus_);
  const bool stolen = ticks && ticks_ && ticks->stolen > ticks_->stolen;
  ticks_ = ticks;
  disturbed_ += stolen ? window_steps_ : interrupted_;
  interrupted_ = 0;
  window_steps_ = 0;
  window_seconds_ = 0;
}

std::optional<double> TakenTime::all() const {
  if (!stolen && !waiting) return std::nullopt;
  return stolen.value_or(0) + waiting.value_or(0);
}

bool Timing::disturbed() const {
  constexpr double kDisturbed = 0.05;
  return taken_us.value_or(0) > kDisturbed * us;
}

double Timing::least_us() const { return std::max(0.0, us - 2 * taken_us.value_or(0)); }

TakenTimer::TakenTimer(fs::path root)
    : root_(std::move(root)),
      cpus_(fixtures::usable_cpus()),
      ticks_(cpu_ticks(root_, cpus_)),
      delays_(run_delays(root_)) {}

TakenTime TakenTimer::seconds() const {
  TakenTime taken;
  const auto ticks = cpu_ticks(root_, cpus_);
  if (ticks && ticks_) {
    const auto ticks_a_second = static_cast<double>(sysconf(_SC_CLK_TCK));
    taken.stolen = std::max(0.0, ticks->stolen - ticks_->stolen) / ticks_a_second;
  }
  if (delays_.empty()) return taken;
  double nanoseconds = 0;
  for (const auto& [thread, delay] : run_delays(root_)) {
    const auto before = delays_.find(thread);
    nanoseconds += delay - (before == delays_.end() ? 0 : before->second);
  }
  taken.waiting = std::max(0.0, nanoseconds) * 1e-9;
  return taken;
}

}  // namespace fathom::benchmarks
