// CMake builds this file where oneDNN is absent.
#include "ops/backends/onednn/library.h"

namespace fathom::ops::onednn {

std::string version() { return {}; }

bool has_bf16() { return false; }

std::unique_ptr<Kernel> kernel(const Problem& /*problem*/) { return nullptr; }

}  // namespace fathom::ops::onednn
