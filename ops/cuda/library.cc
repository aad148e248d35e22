#include "ops/cuda/library.h"

#include <dlfcn.h>

namespace fathom::ops {

const CudaLibrary* cuda_library() {
  const auto entry =
      reinterpret_cast<decltype(&fathom_cuda_library)>(dlsym(RTLD_DEFAULT, "fathom_cuda_library"));
  return entry == nullptr ? nullptr : entry();
}

}  // namespace fathom::ops
