#pragma once

#include <torch/nn/module.h>

#include "models/workload.h"
#include "tests/ops/gradients.h"

namespace fathom::tests {

inline NamedTensors parameters(models::Workload& workload) {
  NamedTensors named;
  for (const auto& parameter : workload.module().named_parameters()) {
    named[parameter.key()] = parameter.value();
  }
  return named;
}

}  // namespace fathom::tests
