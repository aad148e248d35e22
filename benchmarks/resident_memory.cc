#include "benchmarks/resident_memory.h"

#include <fstream>
#include <string>

namespace fathom::benchmarks {

ResidentPeak::ResidentPeak() {
  std::ofstream file("/proc/self/clear_refs");
  reset_ = static_cast<bool>(file << "5" << std::flush);  // 5: VmHWM becomes VmRSS, proc(5)
}

std::optional<double> ResidentPeak::bytes() const {
  if (!reset_) return std::nullopt;
  std::ifstream status("/proc/self/status");
  for (std::string field; status >> field;) {
    double kibibytes = 0;
    if (field == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

}  // namespace fathom::benchmarks
