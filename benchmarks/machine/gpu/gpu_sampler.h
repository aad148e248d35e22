#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "benchmarks/machine/gpu/nvml.h"

namespace fathom::benchmarks {

/// The mean of added values; absent where there are none.
class Mean {
 public:
  void add(const std::optional<double>& value) {
    if (!value) return;
    sum_ += *value;
    ++count_;
  }
  std::optional<double> value() const {
    return count_ == 0 ? std::nullopt : std::optional(sum_ / count_);
  }

 private:
  double sum_ = 0;
  int count_ = 0;
};

/// What a GPU reported while it was sampled.
struct GpuState {
  Mean power_w;
  Mean clock_mhz;
  int throttle_samples = 0;                   ///< those that told what keeps the clock down
  std::map<std::string_view, int> throttles;  ///< how many of them gave each reason (Nvml)
};

/// Samples a GPU on a thread of its own, since a GPU that has finished its work soon changes its
/// clock and power.
class GpuSampler {
 public:
  /// The first sample is taken after a tenth of `interval`. Does nothing for null.
  explicit GpuSampler(const Nvml* gpu,
                      std::chrono::milliseconds interval = std::chrono::milliseconds(100));
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;
  ~GpuSampler() { stop(); }

  /// Ends the sampling.
  const GpuState& stop();

 private:
  void sample_until_stopped(const Nvml& gpu, std::chrono::milliseconds interval);

  GpuState state_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace fathom::benchmarks
