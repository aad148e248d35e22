#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ops/core/op.h"

namespace fathom::ops {

/// An op of one shape that a step was seen to run.
struct RecordedOp {
  const OpType* type;
  std::string layer;  ///< the first with this shape
  MatchedOp op;
  int64_t count;
};

/// Parameters of a network by name, as in "conv1.weight".
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Runs `step` and returns the ops on this thread that an op type matches, in the order
/// in which their shapes came first. An op belongs to the layer whose parameter it reads, else to
/// the last layer before it; a gradient to the layer whose gradient it is. What runs inside a
/// matched op, or inside a profiling scope "op:<type>", is part of it.
std::vector<RecordedOp> record(const std::function<void()>& step, const NamedTensors& parameters);

/// A shapes file (shapes.h) of what a training step and an inference of `workload` run.
std::string shapes_json(const std::string& workload, const std::vector<RecordedOp>& train,
                        const std::vector<RecordedOp>& infer);

}  // namespace fathom::ops
