#include "models/memory.h"

#include <torch/nn/module.h>

namespace fathom::models {
namespace {

using ops::MemoryClass;

double bytes(const at::Tensor& tensor) { return static_cast<double>(tensor.nbytes()); }

}  // namespace

StepMemory step_memory(const WorkloadRow& row, const StepOptions& options) {
  ops::MemoryLog log(fixtures::torch_device(options.device));
  Step step(row, options);
  StepMemory memory{};
  const auto predict = [&](MemoryClass what) -> double& {
    auto& predicted = memory.predicted[static_cast<std::size_t>(what)];
    if (!predicted) predicted = 0;
    return *predicted;
  };
  const auto hold = [&](const at::Tensor& tensor, MemoryClass what) {
    log.mark(tensor, what);
    predict(what) += bytes(tensor);
  };
  auto& module = step.workload().module();
  for (const auto& parameter : module.parameters()) hold(parameter, MemoryClass::kWeights);
  for (const auto& buffer : module.buffers()) hold(buffer, MemoryClass::kWeights);
  for (const auto& batch : step.batches()) {
    for (const auto& tensor : batch) hold(tensor, MemoryClass::kInputs);
  }
  if (options.mode == Mode::kTrain) {
    for (const auto& parameter : module.parameters()) {
      if (!parameter.requires_grad()) continue;
      predict(MemoryClass::kGradients) += bytes(parameter);
      predict(MemoryClass::kOptimizer) += row.optimizer_slots * bytes(parameter);
    }
  }
  step.run();
  for (const auto& state : step.workload().optimizer_state())
    log.mark(state, MemoryClass::kOptimizer);
  memory.measured = log.watch([&] {
    step.run([&](Phase phase) {
      if (phase != Phase::kBackward) return;
      for (const auto& parameter : module.parameters())
        log.mark(parameter.grad(), MemoryClass::kGradients);
    });
  });
  return memory;
}

}  // namespace fathom::models
