#include "benchmarks/machine/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "benchmarks/machine/disturbances.h"
#include "benchmarks/machine/energy.h"
#include "fixtures/machine/cpus.h"
#include "tests/temporary_folder.h"

namespace fathom::benchmarks {
namespace {

namespace fs = std::filesystem;

/// A made-up /proc and /sys.
class Machine : public testing::Test {
 protected:
  /// Replaces the whole file, so that readers never see part of it.
  void write(const std::string& path, const std::string& text) const {
    const fs::path file = root() / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file.string() + ".new") << text;
    fs::rename(file.string() + ".new", file);
  }
  void write_of_each_cpu(const std::string& path, const std::string& text) const {
    for (const int cpu : fixtures::usable_cpus()) {
      write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/" + path, text);
    }
  }
  void write_ticks(int user, int idle, int steal) const {
    std::string text = "cpu  1 2 3 4\n";
    for (const int cpu : fixtures::usable_cpus()) {
      text += "cpu" + std::to_string(cpu) + " " + std::to_string(user) + " 0 0 " +
              std::to_string(idle) + " 0 0 0 " + std::to_string(steal) + " 0 0\n";
    }
    write("proc/stat", text + "intr 5\n");
  }
  /// `text` is "<nanoseconds on a CPU> <nanoseconds of waiting> <time slices>".
  void write_thread(int id, const std::string& text) const {
    write("proc/self/task/" + std::to_string(id) + "/schedstat", text + "\n");
  }
  const fs::path& root() const { return folder_.path(); }

  std::optional<MachineFact> fact(const std::string& key) const {
    for (auto& one : machine_facts(/*with_gpu=*/false, root())) {
      if (one.key == key) return one;
    }
    return std::nullopt;
  }
  /// The value, with "(!)" where it makes times unreliable.
  std::string judged(const std::string& key) const {
    const auto found = fact(key);
    if (!found) return "not reported";
    return found->value + (found->doubt.empty() ? "" : " (!)");
  }

 private:
  tests::TemporaryFolder folder_;
};

TEST_F(Machine, LeavesOutWhatTheSystemDoesNotReport) {
  EXPECT_TRUE(machine_facts(/*with_gpu=*/false, root()).empty());
}

TEST_F(Machine, DoubtsGovernorsThatFollowTheLoad) {
  write_of_each_cpu("cpufreq/scaling_governor", "performance\n");
  EXPECT_EQ(judged("governor"), "performance");
  write_of_each_cpu("cpufreq/scaling_governor", "powersave\n");
  EXPECT_EQ(judged("governor"), "powersave (!)");
}

TEST_F(Machine, DoubtsTurboOfEitherVendor) {
  write("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  EXPECT_EQ(judged("turbo"), "on (!)");
  write("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  EXPECT_EQ(judged("turbo"), "off");
  write("sys/devices/system/cpu/cpufreq/boost", "1\n");
  EXPECT_EQ(judged("turbo"), "on (!)");
}

TEST_F(Machine, DoubtsCpusThatShareACore) {
  for (const int cpu : fixtures::usable_cpus()) {
    write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
          std::to_string(cpu) + "\n");
  }
  EXPECT_EQ(judged("smt").find("(!)"), std::string::npos);
  write_of_each_cpu("topology/thread_siblings_list", "0-999\n");
  const bool one_cpu = fixtures::usable_cpus().size() == 1;
  EXPECT_EQ(judged("smt"), std::to_string(fixtures::usable_cpus().size()) + " CPUs on 1 cores" +
                               (one_cpu ? "" : " (!)"));
}

TEST_F(Machine, DoubtsCoresOfSeveralSpeeds) {
  const auto cpus = fixtures::usable_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "one core";
  write_of_each_cpu("cpu_capacity", "1024\n");
  EXPECT_EQ(judged("cores"), "not reported");
  const std::string first = std::to_string(cpus.front());
  write("sys/devices/system/cpu/cpu" + first + "/cpu_capacity", "400\n");
  EXPECT_TRUE(judged("cores").ends_with(", 1 slower (" + first + ") (!)")) << judged("cores");
  EXPECT_TRUE(judged("cores").starts_with(std::to_string(cpus.size() - 1) + " fast ("));
}

TEST_F(Machine, DoubtsAQuotaOfVersion1) {
  write("proc/self/cgroup", "4:cpu,cpuacct:/ci\n");
  write("sys/fs/cgroup/cpu,cpuacct/ci/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu,cpuacct/ci/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(judged("cpu_quota"), "0.5 CPUs (!)");
}

TEST_F(Machine, DoubtsAQuota) {
  write("proc/self/cgroup", "0::/ci/job\n");
  write("sys/fs/cgroup/ci/job/cpu.max", "max 100000\n");
  EXPECT_EQ(judged("cpu_quota"), "none");
  write("sys/fs/cgroup/cpu.max", "150000 100000\n");  // as in a container
  EXPECT_EQ(judged("cpu_quota"), "1.5 CPUs (!)");
  write("sys/fs/cgroup/ci/cpu.max", "50000 100000\n");
  EXPECT_EQ(judged("cpu_quota"), "0.5 CPUs (!)");
}

TEST_F(Machine, ReportsHugePages) {
  write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(judged("huge_pages"), "madvise");
}

/// Calls `write` with 1, 2, 3 and so on every 5 ms until it is destroyed.
class Passing {
 public:
  explicit Passing(std::function<void(int)> write)
      : thread_([this, write = std::move(write)] {
          for (int tick = 1; !ended_; ++tick) {
            write(tick);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          }
        }) {}
  ~Passing() {
    ended_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

TEST_F(Machine, DoubtsOtherProcesses) {
  write_ticks(0, 0, 0);
  {
    const Passing busy([&](int tick) { write_ticks(3 * tick, tick, 0); });
    EXPECT_NE(judged("others").find("(!)"), std::string::npos);
  }
  write_ticks(0, 0, 0);
  const Passing idle([&](int tick) { write_ticks(0, tick, 0); });
  EXPECT_EQ(judged("others"),
            "0.00 of " + std::to_string(fixtures::usable_cpus().size()) + " CPUs");
}

TEST_F(Machine, DoubtsAHypervisorThatTakesCpus) {
  write_ticks(0, 0, 0);
  const Passing stolen([&](int tick) { write_ticks(tick, 0, tick); });
  EXPECT_NE(judged("steal").find("(!)"), std::string::npos);
}

TEST_F(Machine, CountsStepsDuringWhichCpusWereStolen) {
  write_ticks(0, 0, 0);
  Disturbances disturbances(root());
  disturbances.add(7, 0.3);
  const auto calm = disturbances.steps().value();
  EXPECT_TRUE(calm == 0 || calm == 7) << "this process may really have been interrupted";
  write_ticks(0, 0, 1);
  disturbances.add(5, 0.3);
  EXPECT_EQ(disturbances.steps(), calm + 5);
}

TEST_F(Machine, CountsNoDisturbancesWithoutSteal) {
  Disturbances disturbances(root());
  disturbances.add(7, 0.3);
  EXPECT_EQ(disturbances.steps(), std::nullopt);
}

TEST_F(Machine, SumsTheTimeStolenFromItsCpus) {
  write_ticks(0, 0, 3);
  const TakenTimer timer(root());
  EXPECT_EQ(timer.seconds().stolen, 0.0);
  write_ticks(100, 50, 5);
  const auto cpus = static_cast<double>(fixtures::usable_cpus().size());
  const auto ticks_a_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(timer.seconds().stolen.value(), 2 * cpus / ticks_a_second);
  EXPECT_EQ(timer.seconds().waiting, std::nullopt) << "there is no schedstat";
  EXPECT_EQ(timer.seconds().all(), timer.seconds().stolen);
}

TEST_F(Machine, SumsTheWaitingTimeOfItsThreads) {
  write_thread(7, "5000 1000000 3");
  write_thread(8, "5000 4000000 3");
  const TakenTimer timer(root());
  EXPECT_EQ(timer.seconds().waiting, 0.0);
  write_thread(7, "9000 1500000 4");
  write_thread(9, "100 2000000 1");  // it started meanwhile
  EXPECT_DOUBLE_EQ(timer.seconds().waiting.value(), 2.5e-3);
  EXPECT_EQ(timer.seconds().stolen, std::nullopt) << "there is no /proc/stat";
  EXPECT_EQ(timer.seconds().all(), timer.seconds().waiting);
}

TEST_F(Machine, AddsStolenAndWaitingTime) {
  write_ticks(0, 0, 0);
  write_thread(7, "5000 0 1");
  const TakenTimer timer(root());
  write_ticks(0, 0, 1);
  write_thread(7, "5000 1000000 2");
  const TakenTime taken = timer.seconds();
  EXPECT_DOUBLE_EQ(taken.all().value(), taken.stolen.value() + 1e-3);
}

TEST_F(Machine, KnowsNoTakenTimeWithoutStatistics) {
  write_thread(7, "0 0 0");  // as a kernel without these statistics prints them
  const TakenTimer timer(root());
  write_thread(7, "0 0 0");
  EXPECT_EQ(timer.seconds().waiting, std::nullopt);
  EXPECT_EQ(timer.seconds().stolen, std::nullopt);
  EXPECT_EQ(timer.seconds().all(), std::nullopt);
}

class Joules : public Machine {
 protected:
  void package(int number, const std::string& spent) const {
    const std::string zone = "sys/class/powercap/intel-rapl:" + std::to_string(number);
    write(zone + "/name", "package-" + std::to_string(number) + "\n");
    write(zone + "/max_energy_range_uj", "10000000\n");
    if (!spent.empty()) write(zone + "/energy_uj", spent);
  }
  void part(const std::string& spent) const {
    write("sys/class/powercap/intel-rapl:0:0/name", "core\n");
    write("sys/class/powercap/intel-rapl:0:0/energy_uj", spent);
  }
};

TEST_F(Joules, SumPackagesWithoutTheirParts) {
  package(0, "1000000");
  package(1, "5000000");
  part("100");
  const Energy energy(fixtures::Device::kCpu, root());
  package(0, "3000000");
  package(1, "5500000");
  part("1900100");
  EXPECT_DOUBLE_EQ(energy.joules().value(), 2.5);
}

TEST_F(Joules, ContinueWhereTheCounterWrapsAround) {
  package(0, "9000000");
  const Energy energy(fixtures::Device::kCpu, root());
  package(0, "500000");
  EXPECT_DOUBLE_EQ(energy.joules().value(), 1.5);
}

TEST_F(Joules, AreAbsentWhereNothingReportsThem) {
  EXPECT_EQ(Energy(fixtures::Device::kCpu, root()).joules(), std::nullopt);
  package(0, "");
  EXPECT_EQ(Energy(fixtures::Device::kCpu, root()).joules(), std::nullopt);
}

}  // namespace
}  // namespace fathom::benchmarks
