#include "ops/backends/vendor.h"

#include <ATen/DeviceAccelerator.h>

#include <stdexcept>
#include <string>

#include "ops/backends/onednn/library.h"
#include "ops/backends/torch_packed.h"
#include "ops/core/buffer.h"
#include "ops/core/check.h"
#include "ops/cuda/library.h"

namespace fathom::ops {

using fixtures::Device;

bool is_here(Backend backend, Device device, fixtures::Precision precision) {
  switch (backend) {
    case Backend::kTorch:
      return true;
    case Backend::kOneDnn:
      return device == Device::kCpu && !onednn::version().empty() &&
             !fixtures::is_weight_only(precision) && onednn::has(*element(scalar_type(precision)));
    case Backend::kTorchPacked:
      return device == Device::kCpu && !fixtures::is_quantized(precision) &&
             torch_packed::refusal(precision).empty();
    case Backend::kCublas:
    case Backend::kCudnn:
      return device == Device::kCuda;
    case Backend::kInductor:
      return false;  // its packages say for which device they were compiled
    case Backend::kNative:
    case Backend::kTuned:
    case Backend::kLibrary:
      return true;
  }
  return false;
}

bool is_here(Backend backend, const OpType& type, Device device, fixtures::Precision precision) {
  return is_here(backend, device, precision) &&
         (backend != Backend::kOneDnn || onednn::has(type.name, *element(scalar_type(precision))));
}

std::unique_ptr<Kernel> vendor_kernel(Backend backend, const Problem& problem,
                                      fixtures::Precision precision) {
  if (backend == Backend::kOneDnn) {
    if (auto kernel = onednn::kernel(problem)) return kernel;
    throw std::runtime_error("built without oneDNN");
  }
  if (backend == Backend::kTorchPacked) return torch_packed::kernel(problem);
  if (cuda_library() == nullptr)
    throw std::runtime_error(std::string(name(backend)) + ": " +
                             fixtures::unavailable_reason(Device::kCuda));
  const VendorCall call{
      .backend = backend,
      .problem = problem,
      .tf32 = precision == fixtures::Precision::kTf32,
      .stream =
          at::accelerator::getCurrentStream(at::accelerator::getDeviceIndex()).native_handle()};
  return cuda_library()->make_vendor_kernel(call);
}

VendorResults vendor_results(Backend backend, const Op& op, const Tensors& inputs,
                             fixtures::Precision precision) {
  VendorResults results{.outputs = op.call(inputs)(), .implementation = {}};
  for (auto& output : results.outputs) output = output.contiguous().fill_(-1);
  const auto kernel = vendor_kernel(backend, op.problem(inputs, results.outputs), precision);
  for (int i = 0; i < 3; ++i) kernel->run();
  kernel->write_outputs();
  results.implementation = kernel->implementation();
  return results;
}

}  // namespace fathom::ops
