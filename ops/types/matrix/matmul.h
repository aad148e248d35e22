#pragma once

#include <cstdint>

#include "fixtures/machine/precision.h"
#include "ops/core/cost.h"

namespace fathom::ops {

/// C [m, n] = A [m, k] · B [k, n] (+ bias [n]). A transposed factor is stored as [k, m] or [n, k],
/// the way a dense layer y = x · W^T + b and its gradients find theirs.
struct MatmulShape {
  int64_t m;
  int64_t n;
  int64_t k;
  bool transpose_a = false;
  bool transpose_b = false;
  bool bias = false;

  bool operator==(const MatmulShape&) const = default;
};

Cost matmul_cost(const MatmulShape& shape, fixtures::Precision precision);

}  // namespace fathom::ops
