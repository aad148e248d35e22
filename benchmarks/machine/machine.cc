#include "benchmarks/machine/machine.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <thread>

#include "benchmarks/machine/cpu_ticks.h"
#include "benchmarks/machine/gpu/nvml.h"
#include "fixtures/files/file.h"
#include "fixtures/files/text.h"
#include "fixtures/machine/cpu_kinds.h"
#include "fixtures/machine/cpus.h"

namespace fathom::benchmarks {
namespace {

namespace fs = std::filesystem;
using Fact = std::optional<MachineFact>;

constexpr std::chrono::milliseconds kWindow(100);  // ten of the kernel's ticks
constexpr double kBusy = 0.15;                     // CPUs: two ticks or more
constexpr double kStolen = 0.05;

std::string first_line(const fs::path& path) {
  return fixtures::first_line(fixtures::text_of_file(path));
}

fs::path cpu_folder(const fs::path& root, int cpu) {
  return root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu));
}

Fact governor(const fs::path& root) {
  std::set<std::string> found;
  for (const int cpu : fixtures::usable_cpus()) {
    const auto one = first_line(cpu_folder(root, cpu) / "cpufreq/scaling_governor");
    if (!one.empty()) found.insert(one);
  }
  if (found.empty()) return std::nullopt;
  std::string value;
  for (const auto& one : found) value += (value.empty() ? "" : ",") + one;
  return MachineFact{"governor", value,
                     value == "performance"
                         ? ""
                         : "the clock depends on the load; cpupower frequency-set -g performance"};
}

Fact turbo(const fs::path& root) {
  const fs::path cpu = root / "sys/devices/system/cpu";
  const auto boost = first_line(cpu / "cpufreq/boost");
  const auto no_turbo = first_line(cpu / "intel_pstate/no_turbo");
  if (boost.empty() && no_turbo.empty()) return std::nullopt;
  const bool on = boost.empty() ? no_turbo == "0" : boost == "1";
  const std::string off = boost.empty() ? "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"
                                        : "echo 0 > /sys/devices/system/cpu/cpufreq/boost";
  return MachineFact{"turbo", on ? "on" : "off",
                     on ? "the clock depends on temperature and on other cores; " + off : ""};
}

/// CPUs on one core share its execution units.
Fact siblings(const fs::path& root) {
  std::set<std::string> cores;
  const auto cpus = fixtures::usable_cpus();
  for (const int cpu : cpus) {
    const auto one = first_line(cpu_folder(root, cpu) / "topology/thread_siblings_list");
    if (one.empty()) return std::nullopt;
    cores.insert(one);
  }
  const bool shared = cores.size() < cpus.size();
  return MachineFact{
      "smt", std::to_string(cpus.size()) + " CPUs on " + std::to_string(cores.size()) + " cores",
      shared ? "threads share cores; use one CPU of each core, as with taskset" : ""};
}

/// Cores of several speeds, as of big.LITTLE and hybrid CPUs.
Fact cores(const fs::path& root) {
  const auto parts = fixtures::cpus_by_speed(fixtures::usable_cpus(), root);
  if (parts.size() < 2) return std::nullopt;
  std::string value;
  for (const auto& part : parts) {
    value += (value.empty() ? "" : ", ") + std::to_string(part.size()) +
             (&part == &parts.front() ? " fast (" : " slower (") + fixtures::cpu_list(part) + ")";
  }
  return MachineFact{"cores", value,
                     "threads may run on either; by default rows have as many threads as there are "
                     "fast CPUs; to use only those: taskset -c " +
                         fixtures::cpu_list(parts.front())};
}

Fact quota(const fs::path& root) {
  const auto cpus = fixtures::cpu_quota(root);
  if (!cpus) return std::nullopt;
  if (std::isinf(*cpus)) return MachineFact{"cpu_quota", "none", ""};
  char text[32];
  std::snprintf(text, sizeof text, "%.3g CPUs", *cpus);
  return MachineFact{"cpu_quota", text,
                     "a process that uses it up is stopped for the rest of the period; run without "
                     "a quota, on reserved CPUs (cpuset)"};
}

/// The setting in brackets: always, madvise or never.
Fact huge_pages(const fs::path& root) {
  const auto line = first_line(root / "sys/kernel/mm/transparent_hugepage/enabled");
  const auto begin = line.find('[');
  const auto end = line.find(']');
  if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
  return MachineFact{"huge_pages", line.substr(begin + 1, end - begin - 1), ""};
}

/// The mean number of usable CPUs that were in the state `way` while `work` ran; doubtful above
/// `most`.
Fact during(const fs::path& root, void (*work)(), double CpuTicks::*way, const char* key,
            double most, const char* doubt) {
  const auto cpus = fixtures::usable_cpus();
  const auto before = cpu_ticks(root, cpus);
  work();
  const auto after = cpu_ticks(root, cpus);
  if (!before || !after || after->all <= before->all) return std::nullopt;
  const double share = ((*after).*way - (*before).*way) / (after->all - before->all);
  const double found = share * static_cast<double>(cpus.size());
  char text[48];
  std::snprintf(text, sizeof text, "%.2f of %zu CPUs", found, cpus.size());
  return MachineFact{key, text, found > most ? doubt : ""};
}

void sleep() { std::this_thread::sleep_for(kWindow); }

void keep_busy() {
  const auto end = std::chrono::steady_clock::now() + kWindow;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// While this process sleeps, only other processes use the CPUs.
Fact others(const fs::path& root) {
  return during(root, sleep, &CpuTicks::busy, "others", kBusy,
                "other processes are running; wait for them or stop them");
}

/// CPUs that the hypervisor takes while this process keeps one busy.
Fact steal(const fs::path& root) {
  return during(root, keep_busy, &CpuTicks::stolen, "steal", kStolen,
                "the hypervisor runs other virtual machines on these CPUs");
}

Fact gpu_clock() {
  const Nvml* nvml = Nvml::get();
  if (nvml == nullptr) return std::nullopt;
  const auto now = nvml->clock_mhz();
  const auto highest = nvml->highest_clock_mhz();
  if (!now || !highest) return std::nullopt;
  return MachineFact{"gpu_clock", std::to_string(*now) + " of " + std::to_string(*highest) + " MHz",
                     nvml->throttles().value_or(std::set<std::string_view>{}).empty()
                         ? ""
                         : "heat or power throttles the GPU's clock"};
}

}  // namespace

std::vector<MachineFact> machine_facts(bool with_gpu, const fs::path& root) {
  std::vector<MachineFact> facts;
  for (const auto& find : {governor, turbo, cores, siblings, quota, huge_pages, others, steal}) {
    if (auto fact = find(root)) facts.push_back(std::move(*fact));
  }
  if (with_gpu) {
    if (auto fact = gpu_clock()) facts.push_back(std::move(*fact));
  }
  return facts;
}

}  // namespace fathom::benchmarks
