#include "ops/backends/operators/kernel_set.h"

#include "ops/backends/onednn/library.h"
#include "ops/backends/operators/replaced_operators.h"
#include "ops/kernels/fused_composites.h"

namespace fathom::ops {
namespace {

using fixtures::Device;

KernelSet set_of(const char* name, Device device, std::vector<Replacement> replacements,
                 Choice choice) {
  KernelSet set{.name = name, .chooses = choice == Choice::kFastest};
  std::set<std::string>& operators = set.operators[device];
  for (const auto& one : replacements) operators.insert(one.op);
  set.install = [replacements = std::move(replacements),
                 choice](const std::vector<ChosenKernel>* recorded) {
    replace_operators(replacements, choice, recorded);
  };
  set.replaced = replaced_operators;
  if (set.chooses) {
    set.take_turns = take_turns;
    set.end_round = end_round;
  }
  set.end_choice = end_choice;
  return set;
}

}  // namespace

KernelSet onednn_kernels() {
  const bool here = !onednn::version().empty();
  return set_of("onednn", Device::kCpu, here ? onednn::operators() : std::vector<Replacement>(),
                Choice::kFirst);
}

KernelSet tuned_kernels(Device device) {
  std::vector<Replacement> all;
  if (device == Device::kCpu) {
    all = native_operators();
    if (!onednn::version().empty()) {
      for (auto& one : onednn::operators()) all.push_back(one);
    }
  }
  KernelSet set = set_of("tuned", device, std::move(all), Choice::kFastest);
  set.install = [install = set.install](const std::vector<ChosenKernel>* recorded) {
    fused_composites() = true;
    install(recorded);
  };
  return set;
}

}  // namespace fathom::ops
