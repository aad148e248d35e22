#pragma once

#include <set>
#include <string>

#include "ops/backends/operators/kernel_set.h"

namespace fathom::benchmarks {

/// For the label of a row that calls `operators`: which of them `kernels` replace, as in
/// "replaced:addmm,mm", or "replaced:nothing".
inline std::string replaced(const ops::KernelSet& kernels, fixtures::Device device,
                            const std::set<std::string>& operators) {
  std::string text;
  for (const auto& op : kernels.operators().at(device)) {
    if (operators.contains(op)) text += (text.empty() ? "" : ",") + op;
  }
  return "replaced:" + (text.empty() ? "nothing" : text);
}

/// Whether a label says that.
inline bool replaces_nothing(const std::string& label) {
  return label.find("replaced:nothing") != std::string::npos;
}

}  // namespace fathom::benchmarks
