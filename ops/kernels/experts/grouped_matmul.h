#pragma once

#include <ATen/core/Tensor.h>

#include "ops/kernels/experts/expert_groups.h"

namespace fathom::ops {

/// The dense layers of experts: y [P, N], where the rows of x [P, K] of each group are multiplied
/// with the matrix of its expert, weight [E, N, K]. In LibTorch: _grouped_mm, which is a loop over
/// the groups on a CPU; for float64, which that refuses, such a loop.
at::Tensor grouped_matmul(const at::Tensor& x, const at::Tensor& weight,
                          const ExpertGroups& groups);

/// The same on the CPU in one parallel region over experts and parts of their matrices, with its
/// own gradient. Groups of up to 8 rows read their matrix once, as skinny_linear(). Elsewhere,
/// grouped_matmul().
at::Tensor fused_grouped_matmul(const at::Tensor& x, const at::Tensor& weight,
                                const ExpertGroups& groups);

}  // namespace fathom::ops
