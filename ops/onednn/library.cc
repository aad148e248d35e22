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
  try {
    return std::visit([](const auto& one) { return make(one); }, problem);
  } catch (const dnnl::error& error) {
    throw std::runtime_error(std::string("oneDNN: ") + error.what());
  }
}

}  // namespace fathom::ops::onednn
