#include "ops/backends/operators/kernel_set.h"

#include <c10/util/Exception.h>

#include "ops/backends/onednn/library.h"
#include "ops/backends/operators/replaced_kernels.h"

namespace fathom::ops {
namespace {

using fixtures::Device;
using fixtures::Precision;

void append(std::vector<Replacement>& all, const std::vector<Replacement>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

std::vector<Replacement> onednn_operators(Precision precision) {
  if (onednn::version().empty()) return {};
  std::vector<Replacement> all = onednn::operators();
  if (precision == Precision::kInt8) append(all, quantized_operators(Backend::kOneDnn));
  return all;
}

class ReplacementsAreWanted final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    if (warning.msg().find("Overriding a previously registered kernel") == std::string::npos)
      c10::WarningHandler::process(warning);
  }
};

}  // namespace

std::shared_ptr<KernelSet> onednn_kernels(Precision precision) {
  return std::make_shared<ReplacedKernels>("onednn", Device::kCpu, onednn_operators(precision),
                                           Choice::kFirst);
}

std::shared_ptr<KernelSet> tuned_kernels(Device device, Precision precision) {
  std::vector<Replacement> all;
  if (device == Device::kCpu) {
    all = native_operators();
    append(all, onednn_operators(precision));
    if (fixtures::is_quantized(precision)) {
      append(all, quantized_operators(Backend::kTorch));
      append(all, quantized_operators(Backend::kNative));
    }
  }
  return std::make_shared<ReplacedKernels>("tuned", device, std::move(all), Choice::kFastest);
}

std::shared_ptr<KernelSet> torch_quantized_kernels(Device device) {
  return std::make_shared<ReplacedKernels>("torch", device, quantized_operators(Backend::kTorch),
                                           Choice::kFirst);
}

void without_replacement_warning(const std::function<void()>& registrations) {
  ReplacementsAreWanted handler;
  const c10::WarningUtils::WarningHandlerGuard guard(&handler);
  registrations();
}

}  // namespace fathom::ops
