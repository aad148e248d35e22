#pragma once

#include <string>
#include <vector>

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

/// The options of these arguments, as main() resolves them.
inline Options parsed(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "fathom_bench");
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  Options options = parse_options(static_cast<int>(pointers.size()), pointers.data(), {});
  resolve_for_machine(options);
  return options;
}

}  // namespace fathom::benchmarks
