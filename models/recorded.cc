#include "models/recorded.h"

#include <torch/nn/module.h>

#include "models/gradient_buckets.h"
#include "models/step.h"
#include "ops/profiler/record.h"

namespace fathom::models {
namespace {

/// Adds the buckets of the gradients to `buckets` in training.
std::vector<ops::RecordedOp> record(const WorkloadRow& row, Mode mode, fixtures::Device device,
                                    std::vector<int64_t>& buckets) {
  Step step(row, {.mode = mode, .device = device, .batch = default_batch(row, mode)});
  // The first step also allocates the optimizer's state.
  if (mode == Mode::kTrain) buckets = gradient_buckets(step);
  ops::NamedTensors parameters;
  for (const auto& parameter : step.workload().module().named_parameters()) {
    parameters.emplace_back(parameter.key(), parameter.value());
  }
  return ops::record([&] { step.run(); }, parameters);
}

}  // namespace

std::string record_shapes_json(const WorkloadRow& row, fixtures::Device device) {
  std::vector<ops::RecordedOp> train;
  std::vector<int64_t> buckets;
  if (row.trains) train = record(row, Mode::kTrain, device, buckets);
  const auto infer = record(row, Mode::kInfer, device, buckets);
  return ops::shapes_json(std::string(row.name), train, infer, buckets);
}

}  // namespace fathom::models
