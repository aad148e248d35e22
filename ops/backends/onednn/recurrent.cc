#include "ops/backends/onednn/recurrent.h"

#include <cstring>

#include "ops/backends/onednn/primitive.h"

namespace fathom::ops::onednn {

using dnnl::memory;

memory::desc state(const Buffer& buffer) {
  return layout(buffer).reshape({1, 1, buffer.sizes[0], buffer.sizes[1]});
}

memory::desc any(const memory::desc& desc, memory::data_type type) {
  return {desc.get_dims(), type, memory::format_tag::any};
}

memory::desc gradient(const memory::desc& desc) {
  return {desc.get_dims(), memory::data_type::f32, desc.get_strides()};
}

memory zeros(const memory::desc& desc) {
  memory made(desc, engine());
  std::memset(made.get_data_handle(), 0, desc.get_size());
  return made;
}

}  // namespace fathom::ops::onednn
