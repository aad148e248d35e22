// Stands in for NVIDIA's libnvidia-ml.so.1: a GPU that has taken 12.5 J and is held down by its
// power cap.

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  static int gpu = 0;
  *device = &gpu;
  return index == 0 ? 0 : 2;
}
int nvmlDeviceGetTotalEnergyConsumption(void* /*device*/, unsigned long long* millijoules) {
  *millijoules = 12500;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* /*device*/, unsigned long long* reasons) {
  *reasons = 0x4;
  return 0;
}
int nvmlDeviceGetClockInfo(void* /*device*/, int kind, unsigned* mhz) {
  *mhz = kind == 1 ? 1500 : 0;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void* /*device*/, int /*kind*/, unsigned* /*mhz*/) {
  return 3;  // not supported
}
}
