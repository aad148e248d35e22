// Chosen by CMake where there is no oneDNN: no kernel, no rows.
#include "ops/onednn/matmul.h"
#include "ops/onednn/version.h"

namespace fathom::ops::onednn {

std::string version() { return {}; }

std::unique_ptr<Kernel> matmul(const MatmulShape& /*shape*/, fixtures::Precision /*precision*/,
                               const void* /*a*/, const void* /*b*/, const void* /*bias*/,
                               void* /*c*/) {
  return nullptr;
}

}  // namespace fathom::ops::onednn
