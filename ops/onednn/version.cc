#include "ops/onednn/version.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace fathom::ops::onednn {

std::string version() {
  const dnnl_version_t* linked = dnnl_version();
  return std::to_string(linked->major) + '.' + std::to_string(linked->minor) + '.' +
         std::to_string(linked->patch);
}

}  // namespace fathom::ops::onednn
