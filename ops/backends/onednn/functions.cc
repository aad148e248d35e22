// What libfathom_onednn.so exports.
#include <stdexcept>

#include "ops/backends/onednn/dnnl.h"
#include "ops/backends/onednn/kernels.h"
#include "ops/backends/onednn/library.h"
#include "ops/backends/onednn/primitive.h"

namespace fathom::ops::onednn {
namespace {

bool supports_bf16() {
  static const bool has = [] {
    const dnnl::memory::desc one({1}, dnnl::memory::data_type::bf16, dnnl::memory::format_tag::a);
    const dnnl::eltwise_forward::primitive_desc relu(
        engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::eltwise_relu, one, one, 0.0F,
        0.0F, dnnl::primitive_attr(), /*allow_empty=*/true);
    return relu.get(/*allow_empty=*/true) != nullptr;
  }();
  return has;
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
  static constexpr Library functions{.has_bf16 = supports_bf16, .kernel = make_kernel};
  return &functions;
}
