#include "models/recorded.h"

#include <torch/nn/module.h>

#include "models/step.h"
#include "ops/profiler/record.h"

namespace fathom::models {
namespace {

std::vector<ops::RecordedOp> record(const WorkloadRow& row, Mode mode, fixtures::Device device) {
  Step step(row, {.mode = mode, .device = device, .batch = default_batch(row, mode)});
  if (mode == Mode::kTrain) step.run();  // the first step allocates the optimizer's state
  ops::NamedTensors parameters;
  for (const auto& parameter : step.workload().module().named_parameters()) {
    parameters.emplace_back(parameter.key(), parameter.value());
  }
  return ops::record([&] { step.run(); }, parameters);
}

}  // namespace

std::string record_shapes_json(const WorkloadRow& row, fixtures::Device device) {
  std::vector<ops::RecordedOp> train;
  if (row.trains) train = record(row, Mode::kTrain, device);
  return ops::shapes_json(std::string(row.name), train, record(row, Mode::kInfer, device));
}

}  // namespace fathom::models
