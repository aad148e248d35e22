#pragma once

#include <c10/core/Device.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace fathom::models {

// The numbers and records of torch/_export/serde/schema.py as LibTorch's types. All functions
// throw std::runtime_error for a value that is not one, and nlohmann's exceptions for other JSON.

at::ScalarType scalar_type(const nlohmann::json& number);
at::Layout layout(const nlohmann::json& number);
at::MemoryFormat memory_format(const nlohmann::json& number);
/// Of {"type": "cuda", "index": 0}.
at::Device device(const nlohmann::json& record);
/// A number, or the text "Infinity", "-Infinity" or "NaN".
double real(const nlohmann::json& value);
/// The numbers of [{"as_int": 3}, ...]. Throws for a symbol.
std::vector<int64_t> fixed_sizes(const nlohmann::json& sizes);

}  // namespace fathom::models
