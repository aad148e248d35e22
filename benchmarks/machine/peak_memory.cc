#include "benchmarks/machine/peak_memory.h"

#include <ATen/DeviceAccelerator.h>

#include <fstream>
#include <string>

namespace fathom::benchmarks {
namespace {

bool reset_resident_peak() {
  std::ofstream file("/proc/self/clear_refs");
  return static_cast<bool>(file << "5" << std::flush);  // 5: VmHWM becomes VmRSS, proc(5)
}

std::optional<double> resident_peak() {
  std::ifstream status("/proc/self/status");
  for (std::string field; status >> field;) {
    double kibibytes = 0;
    if (field == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

double allocated_peak() {
  constexpr auto kAllPools = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return static_cast<double>(at::accelerator::getDeviceStats(0).allocated_bytes[kAllPools].peak);
}

}  // namespace

PeakMemory::PeakMemory(fixtures::Device device) : device_(device), reset_(true) {
  if (device == fixtures::Device::kCpu) {
    reset_ = reset_resident_peak();
  } else {
    at::accelerator::resetPeakStats(0);
  }
}

std::optional<double> PeakMemory::bytes() const {
  if (!reset_) return std::nullopt;
  return device_ == fixtures::Device::kCpu ? resident_peak() : allocated_peak();
}

}  // namespace fathom::benchmarks
