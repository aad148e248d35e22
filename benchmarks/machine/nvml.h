#pragma once

#include <cstdint>
#include <optional>

namespace fathom::benchmarks {

/// NVIDIA's management library (NVML) for the first GPU. It comes with the driver and is opened on
/// first use. A value is absent where the library does not report it.
class Nvml {
 public:
  /// Null where the library is absent or does not initialise.
  static const Nvml* get();

  /// Joules since the driver was loaded.
  std::optional<double> energy() const;
  /// Whether heat or power keeps the clock below the requested one.
  std::optional<bool> throttled() const;
  /// The current clock of the multiprocessors.
  std::optional<unsigned> clock_mhz() const;
  /// Their highest clock.
  std::optional<unsigned> highest_clock_mhz() const;

 private:
  Nvml() = default;

  using Device = void*;
  using Energy = int (*)(Device, unsigned long long*);
  using Reasons = int (*)(Device, unsigned long long*);
  using Clock = int (*)(Device, int, unsigned*);

  Device device_ = nullptr;
  Energy energy_ = nullptr;
  Reasons reasons_ = nullptr;
  Clock clock_ = nullptr;
  Clock highest_clock_ = nullptr;
};

}  // namespace fathom::benchmarks
