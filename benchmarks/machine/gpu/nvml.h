#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace fathom::benchmarks {

/// A GPU as NVIDIA's management library (NVML) reports it. The library comes with the driver. A
/// value is absent where the library does not report it.
class Nvml {
 public:
  /// The GPU that CUDA rows run on, which fixtures::unavailable_reason(Device::kCuda) has opened.
  /// Null where there is none or open() returns null.
  static const Nvml* get();
  /// The GPU at a PCI bus id, such as "0000:3b:00.0". NVML counts all GPUs, in another order than
  /// CUDA, so an index does not tell. Null where the library is absent, does not initialise or
  /// knows no such GPU.
  static std::unique_ptr<const Nvml> open(const std::string& pci_bus_id);

  // These change while the GPU runs.

  /// Joules since the driver was loaded.
  std::optional<double> energy() const;
  /// The power that the board draws now.
  std::optional<double> power_w() const;
  /// What keeps the clock below the requested one: power_cap, hw_slowdown, sw_thermal, hw_thermal,
  /// power_brake.
  std::optional<std::set<std::string_view>> throttles() const;
  /// The current clock of the multiprocessors.
  std::optional<unsigned> clock_mhz() const;

  // Settings.

  std::optional<unsigned> application_clock_mhz() const;
  std::optional<unsigned> highest_clock_mhz() const;
  std::optional<double> power_limit_w() const;
  std::optional<bool> mig() const;          ///< whether it is divided (multi-instance GPU)
  std::optional<bool> ecc() const;          ///< whether its memory corrects errors
  std::optional<bool> persistence() const;  ///< whether it stays initialised without a process
  std::optional<std::string> driver() const;

 private:
  Nvml(void* library, void* device) : library_(library), device_(device) {}

  /// The value that the function `name` writes for the device and `arguments`.
  template <typename Value, typename... Arguments>
  std::optional<Value> asked(const char* name, Arguments... arguments) const;
  /// The first of the two values that the function `name` writes: now, and after the next reset.
  std::optional<bool> mode(const char* name) const;

  void* library_;
  void* device_;
};

}  // namespace fathom::benchmarks
