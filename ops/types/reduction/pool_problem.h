#pragma once

#include "ops/core/buffer.h"
#include "ops/core/op.h"

namespace fathom::ops {

/// `problem` with its buffers: forward from {x} to {y}, backward from {x, gradient of y} to
/// {gradient of x}.
inline PoolProblem pool_problem(const Tensors& in, const Tensors& out, PoolProblem problem) {
  const bool backward = in.size() > 1;
  problem.x = buffer(in[0]);
  problem.y = buffer(backward ? in[1] : out[0]);
  if (backward) problem.dx = buffer(out[0]);
  return problem;
}

}  // namespace fathom::ops
