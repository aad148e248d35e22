#include "ops/onednn/memory.h"

namespace fathom::ops::onednn {

using dnnl::memory;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::data_type data_type(fixtures::Precision precision) {
  return precision == fixtures::Precision::kBf16 ? memory::data_type::bf16 : memory::data_type::f32;
}

memory wrapped(const memory::desc& layout, const void* data) {
  return {layout, engine(),
          const_cast<void*>(data)};  // oneDNN's handles are mutable, its inputs are not written
}

memory reordered(const memory::desc& layout, const void* data, const memory::desc& wanted,
                 dnnl::stream& stream) {
  memory plain = wrapped(layout, data);
  if (layout == wanted) return plain;
  memory copy(wanted, engine());
  dnnl::reorder(plain, copy).execute(stream, plain, copy);
  stream.wait();
  return copy;
}

}  // namespace fathom::ops::onednn
