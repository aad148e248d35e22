#pragma once

#include <cudnn.h>

#include <memory>
#include <type_traits>
#include <vector>

#include "ops/backends/cuda/device_memory.h"
#include "ops/backends/cuda/vendor_kernels.h"

namespace fathom::ops::cuda {

/// Throws std::runtime_error with cuDNN's words.
void check(cudnnStatus_t status);

/// One a stream.
cudnnHandle_t cudnn_handle(cudaStream_t stream);

cudnnDataType_t data_type(Element element);

/// Arithmetic of products: the default may round fp32 to TF32.
cudnnMathType_t math_type(Element element, bool tf32);

/// Extents as cuDNN counts them.
int to_int(int64_t extent);

/// Copies share what cuDNN made.
template <typename Made, auto kCreate, auto kDestroy>
class Descriptor {
 public:
  Descriptor() {
    Made made = nullptr;
    check(kCreate(&made));
    made_.reset(made, kDestroy);
  }

  // NOLINTNEXTLINE(google-explicit-constructor): cuDNN's functions take it as it is.
  operator Made() const { return made_.get(); }

 private:
  std::shared_ptr<std::remove_pointer_t<Made>> made_;
};

using Tensor =
    Descriptor<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;

using Activation = Descriptor<cudnnActivationDescriptor_t, cudnnCreateActivationDescriptor,
                              cudnnDestroyActivationDescriptor>;

/// Most calls want four axes at least: the rest are of extent 1.
Tensor tensor(const Buffer& buffer, std::size_t axes = 4);
Tensor contiguous_tensor(Element element, const std::vector<int64_t>& sizes, std::size_t axes = 4);

/// A contiguous tensor for calls that know fp32 only: the caller's, or a copy.
struct InFp32 {
  InFp32(const Buffer& buffer, cudaStream_t stream);
  void write_back(cudaStream_t stream) const;

  Buffer given;
  Buffer at;
  Memory copy;
};

// The factors of a result and of what was there before.
inline constexpr float kOne = 1;
inline constexpr float kZero = 0;

}  // namespace fathom::ops::cuda
