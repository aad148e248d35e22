#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fathom::benchmarks {

/// What the machine does that times depend on.
struct MachineFact {
  std::string key;    ///< in the context
  std::string value;  ///< as the machine tells it
  std::string doubt;  ///< why times are not to be trusted, and what would mend it; else empty
};

/// What there is to know of the CPUs' governor, turbo, simultaneous multithreading and quota, of
/// huge pages, of what others take of the CPUs in a tenth of a second each of rest and of work, and
/// with a GPU of its clock. What the system does not tell is left out. `root` is where /proc and
/// /sys are.
std::vector<MachineFact> machine_facts(bool with_gpu, const std::filesystem::path& root = "/");

}  // namespace fathom::benchmarks
