#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fathom::benchmarks {

/// A setting or a state of the machine that changes times.
struct MachineFact {
  std::string key;    ///< in the context
  std::string value;  ///< as the machine reports it
  std::string doubt;  ///< why times are doubtful and how to mend it; empty where they are not
};

/// The CPUs' governor, turbo, simultaneous multithreading and quota; huge pages; the share of the
/// CPUs that others take in 0.1 s of rest and 0.1 s of work; with a GPU its clock. What the system
/// does not report is left out. `root` is where /proc and /sys are.
std::vector<MachineFact> machine_facts(bool with_gpu, const std::filesystem::path& root = "/");

}  // namespace fathom::benchmarks
