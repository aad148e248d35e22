#pragma once

#include "ops/core/buffer.h"
#include "ops/core/op.h"
#include "ops/core/pool_windows.h"

namespace fathom::ops {

/// Forward from {x} to {y}, backward from {x, gradient of y} to {gradient of x}.
inline PoolProblem pool_problem(const Tensors& in, const Tensors& out, PoolProblem::Kind kind,
                                const PoolWindows& windows) {
  const bool backward = in.size() > 1;
  PoolProblem problem{.kind = kind,
                      .x = buffer(in[0]),
                      .y = buffer(backward ? in[1] : out[0]),
                      .kernel = windows.kernel,
                      .stride = windows.stride,
                      .padding = windows.padding,
                      .dilation = windows.dilation};
  if (backward) problem.dx = buffer(out[0]);
  return problem;
}

}  // namespace fathom::ops
