#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "ops/core/problem.h"

namespace fathom::ops {

/// None for types that code without LibTorch does not know.
inline std::optional<Element> element(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return Element::kFp32;
    case at::kDouble:
      return Element::kFp64;
    case at::kBFloat16:
      return Element::kBf16;
    default:
      return std::nullopt;
  }
}

/// A tensor of fp32 or bf16 for code that does not see LibTorch.
inline Buffer buffer(const at::Tensor& tensor) {
  return {.data = const_cast<void*>(tensor.const_data_ptr()),  // inputs are not written
          .element = element(tensor.scalar_type()).value(),
          .sizes = tensor.sizes().vec(),
          .strides = tensor.strides().vec()};
}

}  // namespace fathom::ops
