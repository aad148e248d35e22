#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ops/core/op.h"

namespace fathom::ops {

/// An op of one shape that a step ran.
struct RecordedOp {
  const OpType* type;
  std::string layer;  ///< the first layer with this shape
  MatchedOp op;
  int64_t count;
};

/// Parameters of a network by name, as in "conv1.weight".
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Runs `step` and returns the ops on this thread that match an op type, in the order in which
/// their shapes first appeared. An op belongs to the layer that owns its parameter, otherwise to
/// the last layer before it. A gradient belongs to the layer of its forward op. What runs inside a
/// matched op, or inside a profiling scope "op:<type>", is part of it.
std::vector<RecordedOp> record(const std::function<void()>& step, const NamedTensors& parameters);

/// The text of a shapes file (shapes.h) for a training step and an inference step of `workload`.
/// `gradient_buckets` are elements; it is left out where it is empty.
std::string shapes_json(const std::string& workload, const std::vector<RecordedOp>& train,
                        const std::vector<RecordedOp>& infer,
                        const std::vector<int64_t>& gradient_buckets = {});

}  // namespace fathom::ops
