#pragma once

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>

namespace fathom::ops {

/// `tensor` as LibTorch's own ops in reduced precision take it: under autocast in autocast's type,
/// else unchanged. Autocast casts a weight once for all its uses in a step.
inline at::Tensor in_autocast_type(const at::Tensor& tensor) {
  const at::DeviceType device = tensor.device().type();
  if (!at::autocast::is_autocast_enabled(device)) return tensor;
  return at::autocast::cached_cast(at::autocast::get_autocast_dtype(device), tensor, device);
}

}  // namespace fathom::ops
