#pragma once

namespace fathom::ops {

/// Types of tensors that our own kernels take.
enum class Element { kFloat, kDouble, kBfloat16 };

}  // namespace fathom::ops
