#include "ops/backends/cuda/cudnn_descriptors.h"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "ops/core/kernel.h"

namespace fathom::ops::cuda {

void check(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string message = std::string("cuDNN: ") + cudnnGetErrorString(status);
  if (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED) throw NotSupported(message);
  if (status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) throw OutOfMemory(message);
  throw std::runtime_error(message);
}

cudnnHandle_t cudnn_handle(cudaStream_t stream) {
  static std::map<cudaStream_t, cudnnHandle_t> handles;  // never destroyed
  cudnnHandle_t& handle = handles[stream];
  if (handle == nullptr) {
    check(cudnnCreate(&handle));
    check(cudnnSetStream(handle, stream));
  }
  return handle;
}

cudnnDataType_t data_type(Element element) {
  switch (element) {
    case Element::kFp32:
      return CUDNN_DATA_FLOAT;
    case Element::kFp64:
      return CUDNN_DATA_DOUBLE;
    case Element::kBf16:
      return CUDNN_DATA_BFLOAT16;
    case Element::kFp16:
      return CUDNN_DATA_HALF;
    case Element::kU8:
      return CUDNN_DATA_UINT8;
    case Element::kS8:
      return CUDNN_DATA_INT8;
    case Element::kS32:
      return CUDNN_DATA_INT32;
    case Element::kE4m3:
      return CUDNN_DATA_FP8_E4M3;
  }
  return CUDNN_DATA_FLOAT;
}

cudnnMathType_t math_type(Element element, bool tf32) {
  if (element == Element::kBf16 || element == Element::kFp16) return CUDNN_TENSOR_OP_MATH;
  return tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

int to_int(int64_t extent) {
  if (extent > std::numeric_limits<int>::max())
    throw NotSupported("cuDNN has no extents beyond 31 bits");
  return static_cast<int>(extent);
}

Tensor tensor(const Buffer& buffer, std::size_t axes) {
  axes = std::max(axes, buffer.sizes.size());
  std::vector<int> sizes(axes, 1);
  std::vector<int> strides(axes, 1);
  // The stride of an extent of 1 is arbitrary; cuDNN requires that of a contiguous tensor.
  int contiguous = 1;
  for (std::size_t axis = buffer.sizes.size(); axis-- > 0;) {
    sizes[axis] = to_int(buffer.sizes[axis]);
    strides[axis] = sizes[axis] == 1 ? contiguous : to_int(buffer.strides[axis]);
    contiguous = to_int(int64_t{contiguous} * sizes[axis]);
  }
  Tensor made;
  check(cudnnSetTensorNdDescriptor(made, data_type(buffer.element), static_cast<int>(axes),
                                   sizes.data(), strides.data()));
  return made;
}

Tensor contiguous_tensor(Element element, const std::vector<int64_t>& sizes, std::size_t axes) {
  Buffer buffer{.data = nullptr, .element = element, .sizes = sizes, .strides = sizes};
  int64_t stride = 1;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    buffer.strides[axis] = stride;
    stride *= sizes[axis];
  }
  return tensor(buffer, axes);
}

InFp32::InFp32(const Buffer& buffer, cudaStream_t stream) : original(buffer), fp32(buffer) {
  expect_contiguous(original);
  if (original.element == Element::kFp32) return;
  fp32.element = Element::kFp32;
  copy = allocate(bytes(fp32));
  fp32.data = copy.get();
  write(read(original, stream), fp32, stream);
}

void InFp32::write_back(cudaStream_t stream) const {
  if (copy != nullptr) write(read(fp32, stream), original, stream);
}

}  // namespace fathom::ops::cuda
