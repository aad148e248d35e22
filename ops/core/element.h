#pragma once

namespace fathom::ops {

/// Types of tensors for code that does not see LibTorch.
enum class Element { kFp32, kFp64, kBf16 };

}  // namespace fathom::ops
