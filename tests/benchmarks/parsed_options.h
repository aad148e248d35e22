#pragma once

#include <string>
#include <vector>

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

/// As if they had been typed.
inline Options parsed(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "fathom_bench");
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  return parse_options(static_cast<int>(pointers.size()), pointers.data());
}

}  // namespace fathom::benchmarks
