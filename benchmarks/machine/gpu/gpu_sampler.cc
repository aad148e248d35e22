#include "benchmarks/machine/gpu/gpu_sampler.h"

namespace fathom::benchmarks {

GpuSampler::GpuSampler(const Nvml* gpu, std::chrono::milliseconds interval) {
  if (gpu == nullptr) return;
  thread_ = std::thread([this, gpu, interval] { sample_until_stopped(*gpu, interval); });
}

const GpuState& GpuSampler::stop() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  return state_;
}

void GpuSampler::sample_until_stopped(const Nvml& gpu, std::chrono::milliseconds interval) {
  std::unique_lock lock(mutex_);
  const auto stopped = [this] { return stopped_; };
  for (auto wait = interval / 10; !changed_.wait_for(lock, wait, stopped); wait = interval) {
    state_.power_w.add(gpu.power_w());
    state_.clock_mhz.add(gpu.clock_mhz());
    if (const auto now = gpu.throttles()) {
      ++state_.throttle_samples;
      for (const auto reason : *now) ++state_.throttles[reason];
    }
  }
}

}  // namespace fathom::benchmarks
