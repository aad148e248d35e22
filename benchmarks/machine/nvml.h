#pragma once

#include <cstdint>
#include <optional>

namespace fathom::benchmarks {

/// NVIDIA's management library, asked about the first GPU. It comes with the driver and is opened
/// on first use.
class Nvml {
 public:
  /// Null where there is none, or it does not start.
  static const Nvml* get();

  /// Joules since the driver was loaded.
  std::optional<double> energy() const;
  /// Whether heat or power keeps the clock below what was asked for.
  std::optional<bool> throttled() const;
  /// Of the multiprocessors, now.
  std::optional<unsigned> clock_mhz() const;
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
