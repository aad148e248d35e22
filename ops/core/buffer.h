#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "ops/core/problem.h"

namespace fathom::ops {

/// The Element of a LibTorch type; none for types that Element lacks.
inline std::optional<Element> element(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return Element::kFp32;
    case at::kDouble:
      return Element::kFp64;
    case at::kBFloat16:
      return Element::kBf16;
    case at::kHalf:
      return Element::kFp16;
    case at::kByte:
      return Element::kU8;
    case at::kChar:
      return Element::kS8;
    case at::kInt:
      return Element::kS32;
    case at::kFloat8_e4m3fn:
      return Element::kE4m3;
    default:
      return std::nullopt;
  }
}

/// Describes the memory of a tensor. Throws std::bad_optional_access for types that Element lacks.
inline Buffer buffer(const at::Tensor& tensor) {
  return {.data = const_cast<void*>(tensor.const_data_ptr()),  // kernels do not write to inputs
          .element = element(tensor.scalar_type()).value(),
          .sizes = tensor.sizes().vec(),
          .strides = tensor.strides().vec()};
}

}  // namespace fathom::ops
