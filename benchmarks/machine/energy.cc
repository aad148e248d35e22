#include "benchmarks/machine/energy.h"

#include <fstream>
#include <string>

namespace fathom::benchmarks {
namespace {

namespace fs = std::filesystem;

/// The number at the start of a file.
std::optional<double> number(const fs::path& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

/// Microjoules by package. The zones of its parts (cores, memory) have a second colon in the name.
std::map<fs::path, double> packages(const fs::path& root) {
  std::map<fs::path, double> found;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(root / "sys/class/powercap", absent)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("intel-rapl:", 0) != 0 || name.find(':') != name.rfind(':')) continue;
    std::string kind;
    std::ifstream(entry.path() / "name") >> kind;
    const auto spent = number(entry.path() / "energy_uj");
    if (kind.rfind("package", 0) == 0 && spent) found[entry.path()] = *spent;
  }
  return found;
}

}  // namespace

Energy::Energy(fixtures::Device device, const fs::path& root, const Nvml* gpu)
    : device_(device), gpu_(gpu) {
  if (device == fixtures::Device::kCpu) {
    packages_ = packages(root);
  } else {
    gpu_before_ = gpu_joules();
  }
}

std::optional<double> Energy::gpu_joules() const {
  return gpu_ == nullptr ? std::nullopt : gpu_->energy();
}

std::optional<double> Energy::joules() const {
  if (device_ == fixtures::Device::kCuda) {
    const auto now = gpu_joules();
    return now && gpu_before_ && *now > *gpu_before_ ? std::optional(*now - *gpu_before_)
                                                     : std::nullopt;
  }
  double microjoules = 0;
  for (const auto& [path, before] : packages_) {
    const auto now = number(path / "energy_uj");
    if (!now) return std::nullopt;
    double more = *now - before;
    if (more < 0)
      more += number(path / "max_energy_range_uj").value_or(0);  // the counter wrapped around
    microjoules += more;
  }
  return packages_.empty() || microjoules <= 0 ? std::nullopt : std::optional(microjoules * 1e-6);
}

}  // namespace fathom::benchmarks
