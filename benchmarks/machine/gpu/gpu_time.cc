#include "benchmarks/machine/gpu/gpu_time.h"

#include <ATen/DeviceAccelerator.h>

namespace fathom::benchmarks {

// LibTorch's default flags make events without timing.
GpuTime::Events::Events(c10::Stream on)
    : stream(on),
      begin(on.device_type(), c10::EventFlag::BACKEND_DEFAULT),
      end(on.device_type(), c10::EventFlag::BACKEND_DEFAULT) {}

GpuTime::GpuTime(fixtures::Device device) {
  if (device == fixtures::Device::kCuda) events_.emplace(at::accelerator::getCurrentStream(0));
}

std::optional<double> GpuTime::seconds() const {
  if (!events_) return std::nullopt;
  return seconds_;
}

}  // namespace fathom::benchmarks
