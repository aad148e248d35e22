#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

/// The axes as they are typed.
struct Typed {
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

/// Every --fathom_ option: its name, what it means, what it takes.
void declare(CLI::App& app, Options& options, Typed& typed);

/// Their names.
std::vector<std::string> option_names();

}  // namespace fathom::benchmarks
