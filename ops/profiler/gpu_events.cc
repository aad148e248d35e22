#include "ops/profiler/gpu_events.h"

#include <kineto/ActivityType.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <memory>
#include <unordered_map>

namespace fathom::ops {
namespace {

namespace kineto = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

/// Whether an event is a kernel, copy or fill. Kineto also reports scopes on the GPU, which have no
/// time of their own.
bool is_work(const kineto::KinetoEvent& event) {
  if (event.deviceType() != c10::DeviceType::CUDA) return false;
  switch (static_cast<libkineto::ActivityType>(event.activityType())) {
    case libkineto::ActivityType::CONCURRENT_KERNEL:
    case libkineto::ActivityType::GPU_MEMCPY:
    case libkineto::ActivityType::GPU_MEMSET:
      return true;
    default:
      return false;
  }
}

std::vector<GpuEvent> linked(const std::vector<kineto::KinetoEvent>& events) {
  std::unordered_map<uint64_t, int64_t> midpoints;  // of ops on the host, by correlation id
  for (const auto& event : events) {
    if (event.deviceType() != c10::DeviceType::CPU || event.linkedCorrelationId() != 0) continue;
    midpoints[event.correlationId()] =
        static_cast<int64_t>(event.startNs() + event.durationNs() / 2);
  }
  std::vector<GpuEvent> found;
  for (const auto& event : events) {
    if (!is_work(event)) continue;
    const auto begin = static_cast<int64_t>(event.startNs());
    const auto op = midpoints.find(event.linkedCorrelationId());
    found.push_back({.launched = op == midpoints.end() ? 0 : op->second,
                     .begin = begin,
                     .end = begin + static_cast<int64_t>(event.durationNs())});
  }
  return found;
}

}  // namespace

std::vector<GpuEvent> gpu_events(const std::function<void()>& work) {
  const std::set<ActivityType> activities{ActivityType::CPU, ActivityType::CUDA};
  const ProfilerConfig config(ProfilerState::KINETO);
  kineto::prepareProfiler(config, activities);
  kineto::enableProfiler(config, activities);
  try {
    work();
  } catch (...) {
    kineto::disableProfiler();
    throw;
  }
  return linked(kineto::disableProfiler()->events());
}

}  // namespace fathom::ops
