// What libfathom_onednn.so exports.
#include <stdexcept>

#include "ops/backends/onednn/dnnl.h"
#include "ops/backends/onednn/kernels.h"
#include "ops/backends/onednn/library.h"
#include "ops/backends/onednn/primitive.h"

namespace fathom::ops::onednn {
namespace {

/// Whether oneDNN has a primitive of these elements on this CPU.
bool tried(dnnl::memory::data_type type) {
  const dnnl::memory::desc one({1}, type, dnnl::memory::format_tag::a);
  const dnnl::eltwise_forward::primitive_desc relu(
      engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::eltwise_relu, one, one, 0.0F,
      0.0F, dnnl::primitive_attr(), /*allow_empty=*/true);
  return relu.get(/*allow_empty=*/true) != nullptr;
}

bool supports(Element element) {
  static const bool bf16 = tried(dnnl::memory::data_type::bf16);
  static const bool fp16 = tried(dnnl::memory::data_type::f16);
  switch (element) {
    case Element::kFp32:
    case Element::kU8:
    case Element::kS8:
    case Element::kS32:
      return true;
    case Element::kFp64:
    case Element::kE4m3:
      return false;
    case Element::kBf16:
      return bf16;
    case Element::kFp16:
      return fp16;
  }
  return false;
}

std::unique_ptr<Kernel> make_kernel(const Problem& problem) {
  const auto solve = [](const auto& one) -> std::unique_ptr<Kernel> {
    if constexpr (requires { make(one); }) return make(one);
    throw NotSupported("oneDNN has no call for this op");
  };
  try {
    return std::visit(solve, problem);
  } catch (const dnnl::error& error) {
    const std::string message = std::string("oneDNN: ") + error.what();
    if (error.status == dnnl_unimplemented) throw NotSupported(message);
    throw std::runtime_error(message);
  }
}

}  // namespace
}  // namespace fathom::ops::onednn

const fathom::ops::onednn::Library* fathom_onednn_library() {
  using namespace fathom::ops::onednn;
  static constexpr Library functions{.has = supports, .kernel = make_kernel};
  return &functions;
}
