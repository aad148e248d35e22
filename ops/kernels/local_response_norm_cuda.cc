#include "ops/kernels/local_response_norm_cuda.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>

#include "ops/core/buffer.h"
#include "ops/cuda/library.h"
#include "ops/kernels/cuda/local_response_norm.h"
#include "ops/kernels/cuda/response_window.h"

namespace fathom::ops {
namespace {

/// Calls launch(library, call) on the device of x. `call` does not include the tensors.
template <typename Launch>
void launch_on(const at::Tensor& x, const LocalResponseNormOptions& norm, Launch launch) {
  const c10::DeviceGuard guard(x.device());
  const ResponseNorm call{
      .norm = norm,
      .element = element(x.scalar_type()).value(),
      .shape = {.images = x.size(0), .channels = x.size(1), .plane = x.size(2) * x.size(3)},
      .stream = at::accelerator::getCurrentStream(x.device().index()).native_handle()};
  const char* error = launch(*cuda_library(), call);
  TORCH_CHECK(error == nullptr, "local_response_norm on ", x.device(), ": ", error);
}

}  // namespace

bool has_local_response_norm_cuda(const at::Tensor& x, const LocalResponseNormOptions& norm) {
  return x.is_cuda() && cuda_library() != nullptr && element(x.scalar_type()) &&
         has_window(norm.size);
}

at::Tensor local_response_norm_cuda(const at::Tensor& x, const LocalResponseNormOptions& norm) {
  at::Tensor y = at::empty_like(x);
  launch_on(x, norm, [&](const CudaLibrary& library, const ResponseNorm& call) {
    return library.response_norm(call, x.const_data_ptr(), y.mutable_data_ptr());
  });
  return y;
}

at::Tensor local_response_norm_backward_cuda(const at::Tensor& x, const at::Tensor& g,
                                             const LocalResponseNormOptions& norm) {
  at::Tensor dx = at::empty_like(x);
  launch_on(x, norm, [&](const CudaLibrary& library, const ResponseNorm& call) {
    return library.response_norm_backward(call, x.const_data_ptr(), g.const_data_ptr(),
                                          dx.mutable_data_ptr());
  });
  return dx;
}

}  // namespace fathom::ops
