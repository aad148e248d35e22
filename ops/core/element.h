#pragma once

namespace fathom::ops {

/// Element types of tensors, for code that does not include LibTorch.
enum class Element { kFp32, kFp64, kBf16, kFp16, kU8, kS8, kS32, kE4m3 };

}  // namespace fathom::ops
