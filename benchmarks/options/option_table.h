#pragma once

#include <string>
#include <vector>

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

/// Values as strings, before their conversion to enums and paths.
struct RawOptions {
  std::vector<std::string> devices;
  std::vector<std::string> precisions;
  std::vector<std::string> backends;
  std::vector<std::string> caches{std::string(kCacheNames[0])};
  std::string data;
  std::string data_errors{kDataErrorsNames[0]};
  std::string rom;
  std::string explain;
  std::string study;
  std::string mkl{kMklNames[0]};
  std::string malloc{kMallocNames[0]};
  std::string layout{models::kLayoutNames[0]};
  std::string machine_check{kMachineCheckNames[0]};
};

/// Parses --fathom_ arguments: values that need no conversion into `options`, the others into the
/// result. Throws UsageError.
RawOptions read_options(std::vector<std::string> arguments, Options& options);

/// The names of all --fathom_ options.
std::vector<std::string> option_names();

}  // namespace fathom::benchmarks
