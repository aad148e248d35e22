// Stands in for NVIDIA's libnvidia-ml.so.1: two GPUs, of which the second, at bus 3b, has taken
// 12.5 J, and more by the environment's FAKE_NVML_MORE_MILLIJOULES, and draws 300 W. Every other
// sample finds it held down by its power cap and by heat.
#include <cstdlib>
#include <cstring>

namespace {

int gpu = 0;
int samples = 0;

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

constexpr int kWrongArgument = 2;
constexpr int kNotSupported = 3;

int switched(void* device, bool on, unsigned* now, unsigned* pending) {
  *now = on ? 1 : 0;
  *pending = on ? 0 : 1;
  return device == &gpu ? 0 : kWrongArgument;
}

}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned /*index*/, void** device) {
  static int other_gpu = 0;
  *device = &other_gpu;
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  *device = &gpu;
  return std::strcmp(bus_id, "0000:3b:00.0") == 0 ? 0 : kWrongArgument;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  const char* more = std::getenv("FAKE_NVML_MORE_MILLIJOULES");
  *millijoules = 12500 + (more == nullptr ? 0 : std::strtoull(more, nullptr, 10));
  return device == &gpu ? 0 : kWrongArgument;
}
int nvmlDeviceGetFieldValues(void* device, int count, FieldValue* values) {
  values->value.number = values->field == 186 ? 300'000 : 1;
  values->result = count == 1 ? 0 : kWrongArgument;
  return device == &gpu ? 0 : kWrongArgument;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = samples++ % 2 == 0 ? 0x4 | 0x20 : 0x1;  // 0x1: idle, which is no throttling
  return device == &gpu ? 0 : kWrongArgument;
}
int nvmlDeviceGetClockInfo(void* /*device*/, int kind, unsigned* mhz) {
  *mhz = kind == 1 ? 1500 : 0;
  return 0;
}
int nvmlDeviceGetApplicationsClock(void* /*device*/, int kind, unsigned* mhz) {
  *mhz = kind == 1 ? 1755 : 0;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void* /*device*/, int /*kind*/, unsigned* /*mhz*/) {
  return kNotSupported;
}
int nvmlDeviceGetEnforcedPowerLimit(void* /*device*/, unsigned* milliwatts) {
  *milliwatts = 350'000;
  return 0;
}
int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* pending) {
  return switched(device, false, now, pending);
}
int nvmlDeviceGetEccMode(void* device, unsigned* now, unsigned* pending) {
  return switched(device, true, now, pending);
}
int nvmlDeviceGetPersistenceMode(void* /*device*/, unsigned* on) {
  *on = 1;
  return 0;
}
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::strncpy(text, "580.65.06", length);
  return 0;
}
}
