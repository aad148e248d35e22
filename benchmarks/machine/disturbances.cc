#include "benchmarks/machine/disturbances.h"

#include <sys/resource.h>

#include <utility>

#include "fixtures/machine/cpus.h"

namespace fathom::benchmarks {
namespace {

/// Of all threads of this process, ended ones included.
long involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

Disturbances::Disturbances(std::filesystem::path root)
    : root_(std::move(root)),
      cpus_(fixtures::usable_cpus()),
      switches_(involuntary_switches()),
      ticks_(cpu_ticks(root_, cpus_)) {}

std::optional<int64_t> Disturbances::steps() {
  look();
  look_at_steal();
  return ticks_ ? std::optional(disturbed_) : std::nullopt;
}

void Disturbances::look() {
  const long switches = involuntary_switches();
  if (std::exchange(switches_, switches) != switches) interrupted_ += steps_;
  window_steps_ += std::exchange(steps_, 0);
  window_seconds_ += std::exchange(seconds_, 0);
  if (window_seconds_ >= kLookAtSteal) look_at_steal();
}

void Disturbances::look_at_steal() {
  const auto ticks = cpu_ticks(root_, cpus_);
  const bool stolen = ticks && ticks_ && ticks->stolen > ticks_->stolen;
  ticks_ = ticks;
  disturbed_ += stolen ? window_steps_ : interrupted_;
  interrupted_ = 0;
  window_steps_ = 0;
  window_seconds_ = 0;
}

}  // namespace fathom::benchmarks
