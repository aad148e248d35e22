#include "benchmarks/machine/gpu/nvml.h"

#include <dlfcn.h>

#include <array>
#include <utility>

#include "ops/cuda/library.h"

namespace fathom::benchmarks {
namespace {

// Types and constants of nvml.h, whose ABI is stable: the build does not need the header.
constexpr int kSuccess = 0;
constexpr int kMultiprocessorClock = 1;
constexpr unsigned kPowerInstant = 186;  // milliwatts, an unsigned
constexpr std::size_t kVersionLength = 80;

constexpr std::array<std::pair<unsigned long long, std::string_view>, 5> kThrottles{
    {{0x4, "power_cap"},
     {0x8, "hw_slowdown"},
     {0x20, "sw_thermal"},
     {0x40, "hw_thermal"},
     {0x80, "power_brake"}}};

struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency;
  int type;
  int result;
  union {
    double real;
    unsigned number;
    unsigned long long long_number;
  } value;
};

template <typename Function>
Function function(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

template <typename Value, typename... Arguments>
std::optional<Value> Nvml::asked(const char* name, Arguments... arguments) const {
  const auto ask = function<int (*)(void*, Arguments..., Value*)>(library_, name);
  Value value{};
  if (ask == nullptr || ask(device_, arguments..., &value) != kSuccess) return std::nullopt;
  return value;
}

std::optional<bool> Nvml::mode(const char* name) const {
  const auto ask = function<int (*)(void*, unsigned*, unsigned*)>(library_, name);
  unsigned now = 0;
  unsigned pending = 0;
  if (ask == nullptr || ask(device_, &now, &pending) != kSuccess) return std::nullopt;
  return now != 0;
}

const Nvml* Nvml::get() {
  const ops::CudaLibrary* cuda = ops::cuda_library();
  if (cuda == nullptr) return nullptr;
  static const std::unique_ptr<const Nvml> used = open(cuda->device().pci_bus_id);
  return used.get();
}

std::unique_ptr<const Nvml> Nvml::open(const std::string& pci_bus_id) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto start = function<int (*)()>(library, "nvmlInit_v2");
  const auto find = function<int (*)(const char*, void**)>(library,  //
                                                           "nvmlDeviceGetHandleByPciBusId_v2");
  void* device = nullptr;
  if (start == nullptr || find == nullptr || start() != kSuccess ||
      find(pci_bus_id.c_str(), &device) != kSuccess) {
    return nullptr;
  }
  return std::unique_ptr<const Nvml>(new Nvml(library, device));
}

std::optional<double> Nvml::energy() const {
  const auto millijoules = asked<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption");
  if (!millijoules) return std::nullopt;
  return static_cast<double>(*millijoules) * 1e-3;
}

/// nvmlDeviceGetPowerUsage is the mean of the last second on most GPUs, too long for a short row.
std::optional<double> Nvml::power_w() const {
  const auto ask = function<int (*)(void*, int, FieldValue*)>(library_, "nvmlDeviceGetFieldValues");
  FieldValue power{};
  power.field = kPowerInstant;
  if (ask == nullptr || ask(device_, 1, &power) != kSuccess || power.result != kSuccess) {
    return std::nullopt;
  }
  return power.value.number * 1e-3;
}

std::optional<std::set<std::string_view>> Nvml::throttles() const {
  auto bits = asked<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons");
  if (!bits) bits = asked<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons");
  if (!bits) return std::nullopt;
  std::set<std::string_view> found;
  for (const auto& [bit, name] : kThrottles) {
    if ((*bits & bit) != 0) found.insert(name);
  }
  return found;
}

std::optional<unsigned> Nvml::clock_mhz() const {
  return asked<unsigned>("nvmlDeviceGetClockInfo", kMultiprocessorClock);
}

std::optional<unsigned> Nvml::application_clock_mhz() const {
  return asked<unsigned>("nvmlDeviceGetApplicationsClock", kMultiprocessorClock);
}

std::optional<unsigned> Nvml::highest_clock_mhz() const {
  return asked<unsigned>("nvmlDeviceGetMaxClockInfo", kMultiprocessorClock);
}

std::optional<double> Nvml::power_limit_w() const {
  const auto milliwatts = asked<unsigned>("nvmlDeviceGetEnforcedPowerLimit");
  if (!milliwatts) return std::nullopt;
  return *milliwatts * 1e-3;
}

std::optional<bool> Nvml::mig() const { return mode("nvmlDeviceGetMigMode"); }

std::optional<bool> Nvml::ecc() const { return mode("nvmlDeviceGetEccMode"); }

std::optional<bool> Nvml::persistence() const {
  const auto on = asked<unsigned>("nvmlDeviceGetPersistenceMode");
  if (!on) return std::nullopt;
  return *on != 0;
}

std::optional<std::string> Nvml::driver() const {
  const auto ask = function<int (*)(char*, unsigned)>(library_, "nvmlSystemGetDriverVersion");
  std::array<char, kVersionLength> text{};
  if (ask == nullptr || ask(text.data(), kVersionLength) != kSuccess) return std::nullopt;
  return text.data();
}

}  // namespace fathom::benchmarks
