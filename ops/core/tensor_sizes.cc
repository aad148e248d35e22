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

Sizes tensor_sizes(const at::Tensor& tensor) {
  return tensor.dim() == 0 ? Sizes{1} : tensor.sizes().vec();
}

std::vector<Sizes> tensor_sizes(const std::vector<at::Tensor>& tensors) {
  std::vector<Sizes> all;
  for (const auto& tensor : tensors) all.push_back(tensor_sizes(tensor));
  return all;
}

Sizes spanned_sizes(const at::Tensor& tensor) {
  auto sizes = tensor_sizes(tensor);
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.stride(i) == 0) sizes[static_cast<std::size_t>(i)] = 1;
  }
  return sizes;
}

}  // namespace fathom::ops
