#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/layout.h"
#include "ops/backends/operators/chosen_kernels.h"

namespace fathom::benchmarks {

/// What a step on backend:tuned runs, chosen by timing.
struct StepChoice {
  models::Layout layout = models::Layout::kContiguous;  ///< of networks with convolutions
  bool cuda_graph = false;                              ///< whether the step is captured as one
  std::vector<ops::ChosenKernel> kernels = {};
  double seconds = 0;  ///< of the steps that only compared kernels and layouts
};

/// By the name of the row, without kNameSuffix.
using StepChoices = std::map<std::string, StepChoice>;

/// The file beside --benchmark_out=OUT.
inline std::string kernels_path(const std::string& out) { return out + ".kernels.json"; }

/// The text of that file, as docs/kernels.md describes it.
std::string choices_json(const StepChoices& choices);

/// Reads such a file. Throws std::runtime_error: the path, the place, what was found and expected.
StepChoices read_choices(const std::string& path);

}  // namespace fathom::benchmarks
