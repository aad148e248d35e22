#pragma once

#include <string_view>

#include "ops/backends/onednn/primitive.h"

namespace fathom::ops::onednn {

/// A function of oneDNN's C API that describes a primitive which came after 3.2. Throws
/// NotSupported where the loaded oneDNN is older, and std::logic_error for one that is not in the
/// table in added.cc.
void* added_function(std::string_view name);

/// Describes a primitive with such a function.
template <typename... Arguments>
dnnl::primitive_desc_base describe_added(const char* function, Arguments... arguments) {
  using Create = dnnl_status_t (*)(dnnl_primitive_desc_t*, dnnl_engine_t, Arguments...);
  dnnl_primitive_desc_t made = nullptr;
  const auto create = reinterpret_cast<Create>(added_function(function));
  dnnl::error::wrap_c_api(create(&made, engine().get(), arguments...), function);
  dnnl::primitive_desc_base description;
  description.reset(made);
  return description;
}

}  // namespace fathom::ops::onednn
