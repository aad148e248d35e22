#pragma once

#include <cudnn.h>

#include <memory>
#include <type_traits>
#include <vector>

#include "ops/backends/cuda/device_memory.h"
#include "ops/backends/cuda/vendor_kernels.h"

namespace fathom::ops::cuda {

/// Throws NotSupported, OutOfMemory or, for other errors, std::runtime_error with cuDNN's message.
void check(cudnnStatus_t status);

/// The handle of a stream; one per stream.
cudnnHandle_t cudnn_handle(cudaStream_t stream);

cudnnDataType_t data_type(Element element);

/// The math type of products; cuDNN's default may round fp32 to TF32.
cudnnMathType_t math_type(Element element, bool tf32);

/// An extent in cuDNN's type. Throws NotSupported where it needs more than 31 bits.
int to_int(int64_t extent);

/// Owns a cuDNN descriptor. Copies share it.
template <typename Made, auto kCreate, auto kDestroy>
class Descriptor {
 public:
  Descriptor() {
    Made made = nullptr;
    check(kCreate(&made));
    made_.reset(made, kDestroy);
  }

  // NOLINTNEXTLINE(google-explicit-constructor): it is passed to cuDNN's functions.
  operator Made() const { return made_.get(); }

 private:
  std::shared_ptr<std::remove_pointer_t<Made>> made_;
};

using Tensor =
    Descriptor<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;

using Activation = Descriptor<cudnnActivationDescriptor_t, cudnnCreateActivationDescriptor,
                              cudnnDestroyActivationDescriptor>;

/// A descriptor of at least `axes` axes, as most calls require. Added axes have an extent of 1.
Tensor tensor(const Buffer& buffer, std::size_t axes = 4);
Tensor contiguous_tensor(Element element, const std::vector<int64_t>& sizes, std::size_t axes = 4);

/// A contiguous tensor in fp32, for calls that take no other type: the original or a copy.
struct InFp32 {
  InFp32(const Buffer& buffer, cudaStream_t stream);
  void write_back(cudaStream_t stream) const;

  Buffer original;
  Buffer fp32;
  Memory copy;
};

// cuDNN's alpha scales the result, beta the previous contents of the output.
inline constexpr float kOne = 1;
inline constexpr float kZero = 0;

}  // namespace fathom::ops::cuda
