#include "benchmarks/output/context/version.h"

#include <torch/version.h>

#include "benchmarks/output/context/build_info.h"
#include "fixtures/machine/cuda_build.h"
#include "git_commit.h"
#include "ops/backends/onednn/library.h"
#include "ops/cuda/library.h"

namespace fathom::benchmarks {
namespace {

/// "CUDA 13, cuDNN ...": its parts that are built, and those that this machine has.
std::string cuda() {
  const std::string off = fixtures::kCudaOff;
  if (!off.empty()) return "CUDA: not built (" + off + ")";
  std::string text = "CUDA " + std::to_string(fixtures::kTorchCuda);
  if (const ops::CudaLibrary* library = ops::cuda_library()) {
    const ops::CudaDevice device = library->device();
    text += ", cuBLAS " + std::to_string(device.cublas) + ", on " + device.name;
  }
  return text;
}

}  // namespace

std::string version_text() {
  const std::string onednn = ops::onednn::version();
  return "fathom_bench " + std::string(kVersion) + "\ncommit " + FATHOM_GIT_COMMIT + "\nLibTorch " +
         TORCH_VERSION + "\noneDNN " + (onednn.empty() ? "none" : onednn) + '\n' + cuda() + '\n';
}

}  // namespace fathom::benchmarks
