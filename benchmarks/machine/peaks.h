#pragma once

#include <map>
#include <string>
#include <utility>

#include "fixtures/machine/device.h"
#include "fixtures/machine/precision.h"

namespace fathom::benchmarks {

/// Buffers of this many times the last-level cache find next to nothing in it from the run before
/// (STREAM's rule).
inline constexpr double kBeyondCache = 4;

/// The best rate that this program reached on this machine.
struct Peak {
  double rate = 0;   ///< FLOP/s or byte/s; 0 where nothing could be measured
  std::string from;  ///< the kernel that reached it

  void offer(double reached, const std::string& by);
};

/// The context's key: peak_flops_cpu_threads1_fp32.
std::string flops_peak_name(fixtures::Device device, int threads, fixtures::Precision precision);
/// The context's key: peak_bytes_cpu_threads1.
std::string bytes_peak_name(fixtures::Device device, int threads);

/// Peaks of devices, thread counts and precisions, measured on first use and kept.
class Peaks {
 public:
  Peaks() = default;
  /// With peaks that need no measuring, by their keys.
  explicit Peaks(std::map<std::string, Peak> known) : peaks_(std::move(known)) {}

  /// The better of a multiply-add loop in registers and the best square GEMM; about 0.5 s.
  const Peak& flops(fixtures::Device device, int threads, fixtures::Precision precision);
  /// The best of reading a buffer, copying it, scaling it in place and adding another to it in
  /// place; buffers are kBeyondCache times the last-level cache. About 1 s.
  const Peak& bytes(fixtures::Device device, int threads);

 private:
  std::map<std::string, Peak> peaks_;
};

/// Bytes of the largest caches that `threads` threads can reach together; a GPU's level-2 cache.
double last_level_cache_bytes(fixtures::Device device, int threads);

}  // namespace fathom::benchmarks
