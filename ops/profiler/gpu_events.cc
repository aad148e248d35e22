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

TraceEvent::What what(const kineto::KinetoEvent& event) {
  switch (static_cast<libkineto::ActivityType>(event.activityType())) {
    case libkineto::ActivityType::CPU_OP:
      return TraceEvent::What::kOp;
    case libkineto::ActivityType::CUDA_RUNTIME:
    case libkineto::ActivityType::CUDA_DRIVER:
      return TraceEvent::What::kCall;
    case libkineto::ActivityType::CONCURRENT_KERNEL:
    case libkineto::ActivityType::GPU_MEMCPY:
    case libkineto::ActivityType::GPU_MEMSET:
      return TraceEvent::What::kGpuWork;
    default:
      return TraceEvent::What::kOther;
  }
}

std::vector<TraceEvent> trace_of(const std::vector<kineto::KinetoEvent>& events) {
  std::vector<TraceEvent> trace;
  trace.reserve(events.size());
  for (const auto& event : events) {
    const auto begin = static_cast<int64_t>(event.startNs());
    trace.push_back({.what = what(event),
                     .id = event.correlationId(),
                     .linked = event.linkedCorrelationId(),
                     .begin = begin,
                     .end = begin + static_cast<int64_t>(event.durationNs())});
  }
  return trace;
}

}  // namespace

std::vector<GpuEvent> gpu_work(const std::vector<TraceEvent>& trace) {
  using Midpoints = std::unordered_map<uint64_t, int64_t>;  // by id
  Midpoints ops;
  Midpoints calls;
  for (const auto& event : trace) {
    const int64_t midpoint = event.begin + (event.end - event.begin) / 2;
    if (event.what == TraceEvent::What::kOp) ops[event.id] = midpoint;
    if (event.what == TraceEvent::What::kCall) calls[event.id] = midpoint;
  }
  const auto at = [](const Midpoints& midpoints, uint64_t id) {
    const auto found = midpoints.find(id);
    return found == midpoints.end() ? 0 : found->second;
  };
  std::vector<GpuEvent> found;
  for (const auto& event : trace) {
    if (event.what != TraceEvent::What::kGpuWork) continue;
    const int64_t call = at(calls, event.id);
    found.push_back({.launched = call != 0 ? call : at(ops, event.linked),
                     .begin = event.begin,
                     .end = event.end});
  }
  return found;
}

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
  return gpu_work(trace_of(kineto::disableProfiler()->events()));
}

}  // namespace fathom::ops
