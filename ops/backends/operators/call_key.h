#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fathom::ops {

/// The arguments of a call of an operator, in its schema's order.
using Arguments = c10::ArrayRef<c10::IValue>;

/// Equal for two calls of an operator that one kernel can run: threads, sizes, strides, types and
/// other arguments.
using CallKey = std::vector<int64_t>;

/// The key of a call at the current number of threads.
CallKey key_of(Arguments in);

/// The same for a reader, without threads: "float[8,3,4,4]{48,1,12,3} [1,1] true".
/// Strides are in braces, and left out where they are those of a contiguous tensor; "=0" is a
/// tensor in the memory of argument 0.
std::string text_of(Arguments in);

}  // namespace fathom::ops
