#include "benchmarks/machine/cpu_ticks.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>

namespace fathom::benchmarks {

std::optional<CpuTicks> cpu_ticks(const std::filesystem::path& root, const std::vector<int>& cpus) {
  enum Field { kUser, kNice, kSystem, kIdle, kIoWait, kIrq, kSoftIrq, kSteal, kFields };
  std::ifstream file(root / "proc/stat");
  CpuTicks ticks;
  bool found = false;
  for (std::string line; std::getline(file, line);) {
    int cpu = 0;
    if (std::sscanf(line.c_str(), "cpu%d ", &cpu) != 1 ||
        std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) {
      continue;
    }
    std::istringstream values(line.substr(line.find(' ')));
    std::array<double, kFields> spent{};
    for (auto& one : spent) values >> one;
    if (!values) continue;
    found = true;
    const double all = std::accumulate(spent.begin(), spent.end(), 0.0);
    ticks.all += all;
    ticks.busy += all - spent[kIdle] - spent[kIoWait] - spent[kSteal];
    ticks.stolen += spent[kSteal];
  }
  return found ? std::optional(ticks) : std::nullopt;
}

}  // namespace fathom::benchmarks
