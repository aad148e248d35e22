#pragma once

#include <ATen/core/Tensor.h>

#include "ops/problem.h"

namespace fathom::ops {

/// A tensor of fp32 or bf16 for code that does not see LibTorch.
inline Buffer buffer(const at::Tensor& tensor) {
  return {.data = const_cast<void*>(tensor.const_data_ptr()),  // inputs are not written
          .element = tensor.scalar_type() == at::kBFloat16 ? Element::kBf16 : Element::kFp32,
          .sizes = tensor.sizes().vec(),
          .strides = tensor.strides().vec()};
}

}  // namespace fathom::ops
