#include "models/recorded.h"

#include <torch/nn/module.h>

#include <algorithm>

#include "models/gradient_buckets.h"
#include "models/step.h"
#include "ops/profiler/record.h"

namespace fathom::models {
namespace {

std::vector<ops::RecordedOp> record(Step& step) {
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
  if (row.trains) {
    Step step(row, {.device = device, .batch = std::min<int64_t>(row.batch, 2)});
    buckets = gradient_buckets(step);  // this first step allocates the optimizer's state
    step.load(row.batch);
    train = record(step);
  }
  Step infer(row,
             {.mode = Mode::kInfer, .device = device, .batch = default_batch(row, Mode::kInfer)});
  return ops::shapes_json(std::string(row.name), train, record(infer), buckets);
}

}  // namespace fathom::models
