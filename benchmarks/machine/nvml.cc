#include "benchmarks/machine/nvml.h"

#include <dlfcn.h>

namespace fathom::benchmarks {
namespace {

// Constants of nvml.h, whose ABI is stable: the build does not need the header.
constexpr int kSuccess = 0;
constexpr int kMultiprocessorClock = 1;
constexpr unsigned long long kPowerCap = 0x4;
constexpr unsigned long long kHardwareSlowdown = 0x8;
constexpr unsigned long long kSoftwareThermal = 0x20;
constexpr unsigned long long kHardwareThermal = 0x40;
constexpr unsigned long long kPowerBrake = 0x80;
constexpr unsigned long long kThrottled =
    kPowerCap | kHardwareSlowdown | kSoftwareThermal | kHardwareThermal | kPowerBrake;

template <typename Function>
Function function(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

/// The value that `ask` writes; none where the function is absent or fails.
template <typename Value, typename Function, typename... Arguments>
std::optional<Value> asked(Function ask, Arguments... arguments) {
  Value value{};
  if (ask == nullptr || ask(arguments..., &value) != kSuccess) return std::nullopt;
  return value;
}

}  // namespace

const Nvml* Nvml::get() {
  static const Nvml* const opened = []() -> const Nvml* {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    const auto start = function<int (*)()>(library, "nvmlInit_v2");
    const auto find =
        function<int (*)(unsigned, Device*)>(library, "nvmlDeviceGetHandleByIndex_v2");
    if (start == nullptr || find == nullptr || start() != kSuccess) return nullptr;
    static Nvml nvml;
    if (find(0, &nvml.device_) != kSuccess) return nullptr;
    nvml.energy_ = function<Energy>(library, "nvmlDeviceGetTotalEnergyConsumption");
    nvml.reasons_ = function<Reasons>(library, "nvmlDeviceGetCurrentClocksThrottleReasons");
    nvml.clock_ = function<Clock>(library, "nvmlDeviceGetClockInfo");
    nvml.highest_clock_ = function<Clock>(library, "nvmlDeviceGetMaxClockInfo");
    return &nvml;
  }();
  return opened;
}

std::optional<double> Nvml::energy() const {
  const auto millijoules = asked<unsigned long long>(energy_, device_);
  if (!millijoules) return std::nullopt;
  return static_cast<double>(*millijoules) * 1e-3;
}

std::optional<bool> Nvml::throttled() const {
  const auto reasons = asked<unsigned long long>(reasons_, device_);
  if (!reasons) return std::nullopt;
  return (*reasons & kThrottled) != 0;
}

std::optional<unsigned> Nvml::clock_mhz() const {
  return asked<unsigned>(clock_, device_, kMultiprocessorClock);
}

std::optional<unsigned> Nvml::highest_clock_mhz() const {
  return asked<unsigned>(highest_clock_, device_, kMultiprocessorClock);
}

}  // namespace fathom::benchmarks
