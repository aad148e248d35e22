#pragma once

#include <ATen/core/ivalue.h>

#include <string>

namespace fathom::models {

/// The arguments of a network's call, as a tuple. `text` names a file that torch.save has written,
/// of a tensor or of a tuple of arguments, or describes tensors to be drawn:
/// "float32:8x3x224x224,int64:8x128:50257", each with its type, its sizes and, for integers, the
/// number above the largest one. Throws fixtures::DataError.
c10::IValue read_arguments(const std::string& text);

}  // namespace fathom::models
