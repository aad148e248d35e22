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
    constexpr int64_t kSmall = 2;
    const int64_t first = row.batches.contains(kSmall) ? std::min(row.batch, kSmall) : row.batch;
    Step step(row, {.device = device, .batch = first});
    buckets = gradient_buckets(step);  // this first step allocates the optimizer's state
    step.load(row.batch);
    train = record(step);
  }
  std::vector<ops::RecordedOp> infer;
  if (row.infers) {
    Step step(row,
              {.mode = Mode::kInfer, .device = device, .batch = default_batch(row, Mode::kInfer)});
    infer = record(step);
  }
  return ops::shapes_json(row.name, train, infer, buckets);
}

}  // namespace fathom::models
