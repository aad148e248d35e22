#include "ops/core/autograd/autocast.h"

#include <ATen/autocast_mode.h>

namespace fathom::ops {

std::optional<at::ScalarType> autocast_type(at::DeviceType device) {
  if (!at::autocast::is_autocast_enabled(device)) return std::nullopt;
  return at::autocast::get_autocast_dtype(device);
}

at::Tensor in_autocast_type(const at::Tensor& tensor) {
  const at::DeviceType device = tensor.device().type();
  const auto type = autocast_type(device);
  return type ? at::autocast::cached_cast(*type, tensor, device) : tensor;
}

}  // namespace fathom::ops
