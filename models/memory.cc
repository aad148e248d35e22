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
  const auto predict = [&](MemoryClass memory_class) -> double& {
    auto& predicted = memory.predicted[static_cast<std::size_t>(memory_class)];
    if (!predicted) predicted = 0;
    return *predicted;
  };
  const auto mark_and_predict = [&](const at::Tensor& tensor, MemoryClass memory_class) {
    log.mark(tensor, memory_class);
    predict(memory_class) += bytes(tensor);
  };
  step.run();  // creates the optimizer's state; cuDNN moves the weights of recurrent layers
  auto& module = step.workload().module();
  for (const auto& parameter : module.parameters())
    mark_and_predict(parameter, MemoryClass::kWeights);
  for (const auto& buffer : module.buffers()) mark_and_predict(buffer, MemoryClass::kWeights);
  for (const auto& batch : step.batches()) {
    for (const auto& tensor : batch) mark_and_predict(tensor, MemoryClass::kInputs);
  }
  if (options.mode == Mode::kTrain) {
    for (const auto& parameter : module.parameters()) {
      if (!parameter.requires_grad()) continue;
      predict(MemoryClass::kGradients) += bytes(parameter);
      predict(MemoryClass::kOptimizer) += row.optimizer_slots * bytes(parameter);
    }
  }
  for (const auto& state : step.workload().optimizer_state())
    log.mark(state, MemoryClass::kOptimizer);
  memory.measured = log.record([&] {
    step.run([&](Phase phase) {
      if (phase != Phase::kBackward) return;
      for (const auto& parameter : module.parameters())
        log.mark(parameter.grad(), MemoryClass::kGradients);
    });
  });
  return memory;
}

}  // namespace fathom::models
