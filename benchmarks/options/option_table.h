#pragma once

#include <string>
#include <vector>

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

/// Values as typed, before they become enums and paths.
struct RawOptions {
  std::vector<std::string> devices;
  std::vector<std::string> precisions;
  std::vector<std::string> backends;
  std::vector<std::string> caches{std::string(kCacheNames[0])};
  std::string data;
  std::string rom;
  std::string explain;
  std::string study;
  std::string mkl{kMklNames[0]};
  std::string malloc{kMallocNames[0]};
};

/// Reads --fathom_ arguments into `options`, and into the result what needs conversion. Throws
/// UsageError.
RawOptions read_options(std::vector<std::string> arguments, Options& options);

/// The names of all --fathom_ options.
std::vector<std::string> option_names();

}  // namespace fathom::benchmarks
