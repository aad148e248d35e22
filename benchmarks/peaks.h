#pragma once

#include <map>
#include <string>
#include <tuple>

#include "fixtures/device.h"
#include "fixtures/precision.h"

namespace fathom::benchmarks {

/// What this machine reached at one device, thread count and precision; 0 where it was not
/// measured.
struct Peak {
  double flops = 0;        ///< per second, the better of the two below
  std::string flops_from;  ///< what gave it
  double bytes = 0;        ///< per second, over buffers far beyond the last-level cache
  std::string bytes_from;
};

/// Measured on first use (about half a second each) and kept.
class Peaks {
 public:
  const Peak& at(fixtures::Device device, int threads, fixtures::Precision precision);

 private:
  std::map<std::tuple<fixtures::Device, int, fixtures::Precision>, Peak> measured_;
};

/// Bytes of the largest data cache of the CPU.
double last_level_cache_bytes();

}  // namespace fathom::benchmarks
