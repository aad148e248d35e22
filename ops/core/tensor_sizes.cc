#include "ops/core/tensor_sizes.h"

namespace fathom::ops {

double elements(at::IntArrayRef sizes) {
  double product = 1;
  for (const int64_t extent : sizes) product *= static_cast<double>(extent);
  return product;
}

bool is_plain(const c10::IValue& argument) {
  if (!argument.isTensor()) return false;
  const at::Tensor& tensor = argument.toTensor();
  return tensor.defined() && tensor.layout() == at::kStrided && tensor.is_floating_point() &&
         tensor.numel() > 0;
}

std::vector<int64_t> extents(const at::Tensor& tensor) {
  return tensor.dim() == 0 ? std::vector<int64_t>{1} : tensor.sizes().vec();
}

std::vector<std::vector<int64_t>> extents(const std::vector<at::Tensor>& tensors) {
  std::vector<std::vector<int64_t>> all;
  for (const auto& tensor : tensors) all.push_back(extents(tensor));
  return all;
}

}  // namespace fathom::ops
