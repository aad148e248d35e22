#pragma once

#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// cos and sin of the angles of rotary position embeddings, [positions, D] each. The halves of a
/// row are the same.
struct RotaryTable {
  at::Tensor cos;
  at::Tensor sin;
};

struct QueriesKeys {
  at::Tensor queries;
  at::Tensor keys;
};

/// Rotary position embedding (Su et al. 2021, section 3.2) of queries [N, T, H, D] and keys [N, T,
/// G, D] by a table of their T positions: element i < D / 2 and element i + D / 2 are rotated as a
/// pair, as in Llama's published weights. LibTorch's ops.
QueriesKeys rotary(const at::Tensor& queries, const at::Tensor& keys, const RotaryTable& table);

/// The same in one pass of ours on the CPU, with its own gradient: the rotation back. 16 bits are
/// computed in float. Elsewhere LibTorch's ops.
QueriesKeys fused_rotary(const at::Tensor& queries, const at::Tensor& keys,
                         const RotaryTable& table);

}  // namespace fathom::ops
