#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fathom::benchmarks {

/// A setting or a state of the machine that changes times.
struct MachineFact {
  std::string key;    ///< in the context
  std::string value;  ///< as the machine reports it
  std::string doubt;  ///< why it makes times unreliable, and the remedy; empty where it does not
};

/// The CPUs' governor, turbo, kinds of cores, simultaneous multithreading and quota; huge pages;
/// the CPUs that other processes use in 0.1 s, and those that the hypervisor takes in another 0.1
/// s; with a GPU its clock. What the system does not report is left out. `root` is the folder of
/// /proc and /sys.
std::vector<MachineFact> machine_facts(bool with_gpu, const std::filesystem::path& root = "/");

}  // namespace fathom::benchmarks
