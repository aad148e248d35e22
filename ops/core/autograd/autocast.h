#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

// LibTorch's own header of autocast takes 5 s to compile.
namespace fathom::ops {

/// The type of autocast on `device`; none where autocast is off.
std::optional<at::ScalarType> autocast_type(at::DeviceType device);

/// `tensor` as LibTorch's own ops in reduced precision take it: under autocast in autocast's type,
/// else unchanged. Autocast casts a weight once for all its uses in a step.
at::Tensor in_autocast_type(const at::Tensor& tensor);

}  // namespace fathom::ops
