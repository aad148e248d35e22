#include "ops/onednn/library.h"

#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>

#include "ops/onednn/kernels.h"

namespace fathom::ops::onednn {

std::string version() {
  const dnnl_version_t* linked = dnnl_version();
  return std::to_string(linked->major) + '.' + std::to_string(linked->minor) + '.' +
         std::to_string(linked->patch);
}

std::unique_ptr<Kernel> kernel(const Problem& problem) {
  const auto solve = [](const auto& one) -> std::unique_ptr<Kernel> {
    if constexpr (requires { make(one); }) return make(one);
    throw std::runtime_error("oneDNN has no call for this op");
  };
  try {
    return std::visit(solve, problem);
  } catch (const dnnl::error& error) {
    throw std::runtime_error(std::string("oneDNN: ") + error.what());
  }
}

}  // namespace fathom::ops::onednn
