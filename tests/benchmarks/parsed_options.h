#pragma once

#include <string>
#include <vector>

#include "benchmarks/explain/explain_options.h"
#include "benchmarks/isolate/isolation.h"
#include "benchmarks/options/options.h"
#include "benchmarks/rows/study.h"

namespace fathom::benchmarks {

/// The options of these arguments, as main() resolves them.
inline Options parsed(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "fathom_bench");
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  Options options = parse_options(static_cast<int>(pointers.size()), pointers.data());
  resolve_explanation(options);
  resolve_study(options);
  resolve_isolation(options);
  resolve_for_machine(options);
  return options;
}

}  // namespace fathom::benchmarks
