#include "ops/backends/operators/kernel_set.h"

#include <c10/util/Exception.h>

#include "ops/backends/onednn/library.h"
#include "ops/backends/operators/replaced_kernels.h"

namespace fathom::ops {
namespace {

using fixtures::Device;

std::vector<Replacement> onednn_operators() {
  return onednn::version().empty() ? std::vector<Replacement>() : onednn::operators();
}

class ReplacementsAreWanted final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    if (warning.msg().find("Overriding a previously registered kernel") == std::string::npos)
      c10::WarningHandler::process(warning);
  }
};

}  // namespace

std::shared_ptr<KernelSet> onednn_kernels() {
  return std::make_shared<ReplacedKernels>("onednn", Device::kCpu, onednn_operators(),
                                           Choice::kFirst);
}

std::shared_ptr<KernelSet> tuned_kernels(Device device, bool quantized) {
  std::vector<Replacement> all;
  if (device == Device::kCpu) {
    all = native_operators();
    for (auto& one : onednn_operators()) all.push_back(one);
    if (quantized)
      for (auto& one : quantized_operators(/*with_native=*/true)) all.push_back(one);
  }
  return std::make_shared<ReplacedKernels>("tuned", device, std::move(all), Choice::kFastest);
}

std::shared_ptr<KernelSet> torch_quantized_kernels() {
  return std::make_shared<ReplacedKernels>(
      "torch", Device::kCpu, quantized_operators(/*with_native=*/false), Choice::kFirst);
}

void without_replacement_warning(const std::function<void()>& registrations) {
  ReplacementsAreWanted handler;
  const c10::WarningUtils::WarningHandlerGuard guard(&handler);
  registrations();
}

}  // namespace fathom::ops
