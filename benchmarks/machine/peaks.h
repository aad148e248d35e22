#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "fixtures/machine/device.h"
#include "fixtures/machine/precision.h"

namespace fathom::benchmarks {

/// Buffers of this many times the last-level cache are read from memory in every run (STREAM's
/// rule).
inline constexpr double kBeyondCache = 4;

/// A kernel that moves buffers, and how many bytes it moves for each byte of one buffer. Read and
/// written bytes both count. A copy moves more than that: caches fetch a line before it is written,
/// which an update in place reads anyway.
struct MemoryKernel {
  const char* name;
  double passes;
  bool only_reads = false;
};
inline constexpr MemoryKernel kRead{"read", 1, /*only_reads=*/true};
inline constexpr MemoryKernel kCopy{"copy", 2};
inline constexpr MemoryKernel kScale{"scale in place", 2};
inline constexpr MemoryKernel kAdd{"add in place", 3};

/// The best rate that this program reached on this machine.
struct Peak {
  double rate = 0;        ///< FLOP/s or byte/s; 0 where nothing could be measured
  std::string from;       ///< the kernel that reached it
  int tries = 0;          ///< 0 for a peak that this process did not measure
  double spread_pct = 0;  ///< how far the slowest try is below the best one
  double reading = 0;     ///< byte/s of the kernel that only reads; 0 for FLOP/s

  void offer(double reached, const std::string& by);
  /// Offers byte/s of a kernel over buffers of `buffer_bytes`.
  void offer(const MemoryKernel& kernel, double buffer_bytes, double seconds);
};

/// One try at a peak: the best of its kernels, each run several times.
struct PeakTry {
  Peak peak;
  bool disturbed = false;  ///< others took more than 1 % of its time
};

/// The best of the tries, with their number and spread.
Peak best_of(std::span<const PeakTry> tries);

/// Whether the two best tries without a disturbance differ by at most 2 %.
bool agree(std::span<const PeakTry> tries);

/// Why shares of the two-thread peak are doubtful; empty where it is at least 1.8 times the peak
/// `one` of one thread.
std::string scaling_doubt(const Peak& one, const Peak& two);

/// FLOP/s of `threads` threads that each run `rounds` rounds of flops_a_round in `seconds`.
double multiply_add_rate(double flops_a_round, int64_t rounds, int threads, double seconds);

/// byte/s of a kernel over buffers of `buffer_bytes`.
double memory_rate(const MemoryKernel& kernel, double buffer_bytes, double seconds);

/// The context's key of a peak: peak_flops_cpu_threads1_fp32. Precisions of weights alone have that
/// of their arithmetic.
std::string flops_peak_name(fixtures::Device device, int threads, fixtures::Precision precision);
/// The context's key of a peak: peak_bytes_cpu_threads1.
std::string bytes_peak_name(fixtures::Device device, int threads);

/// What a peak is measured for.
struct PeakKey {
  fixtures::Device device;
  int threads;
  std::optional<fixtures::Precision> precision;  ///< for FLOP/s; none for byte/s

  std::string name() const;
};

/// Peaks of devices, thread counts and precisions, measured on first use and kept.
class Peaks {
 public:
  Peaks() = default;
  /// With known peaks by their names, which are not measured.
  explicit Peaks(std::map<std::string, Peak> known) : peaks_(std::move(known)) {}

  /// Measures those of `keys` that are not known, in up to five tries each. The tries of all keys
  /// alternate, so that a disturbance of a second does not reach every try of one key.
  void measure(std::span<const PeakKey> keys);

  /// FLOP/s: the better of a multiply-add loop in registers and the best square GEMM; 0.5 s to 1 s.
  /// byte/s: the best of reading a buffer, copying it, scaling it in place and adding another one
  /// to it in place; 1 s to 2 s.
  const Peak& of(const PeakKey& key);
  /// Without measuring it; null where it is not known.
  const Peak* find(const PeakKey& key) const;
  const Peak& flops(fixtures::Device device, int threads, fixtures::Precision precision) {
    return of({device, threads, precision});
  }
  const Peak& bytes(fixtures::Device device, int threads) {
    return of({device, threads, std::nullopt});
  }

 private:
  std::map<std::string, Peak> peaks_;
};

/// Bytes of the largest caches that `threads` threads can reach together; a GPU's level-2 cache.
double last_level_cache_bytes(fixtures::Device device, int threads);

/// The same of a CPU with one kind of cache on each level.
double largest_reached_bytes(const std::vector<benchmark::CPUInfo::CacheInfo>& levels, int threads);

}  // namespace fathom::benchmarks
