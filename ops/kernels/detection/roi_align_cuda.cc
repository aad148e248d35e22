#include "ops/kernels/detection/roi_align_cuda.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include "ops/core/buffer.h"
#include "ops/cuda/library.h"
#include "ops/kernels/cuda/roi_align.h"

namespace fathom::ops {
namespace {

/// Calls launch(library, call) on the device of `tensor`, whose type the kernel reads and writes.
template <typename Launch>
void launch_on(const at::Tensor& tensor, at::IntArrayRef features, int64_t regions,
               const RoiAlignOptions& align, Launch launch) {
  const c10::DeviceGuard guard(tensor.device());
  const RoiAlignCall call{
      .shape = {.align = align,
                .images = features[0],
                .channels = features[1],
                .rows = features[2],
                .columns = features[3],
                .regions = regions},
      .element = element(tensor.scalar_type()).value(),
      .stream = at::accelerator::getCurrentStream(tensor.device().index()).native_handle()};
  const char* error = launch(*cuda_library(), call);
  TORCH_CHECK(error == nullptr, "roi_align on ", tensor.device(), ": ", error);
}

}  // namespace

bool has_roi_align_cuda(const at::Tensor& features) {
  return features.is_cuda() && cuda_library() != nullptr && element(features.scalar_type());
}

at::Tensor roi_align_cuda(const at::Tensor& features, const at::Tensor& regions,
                          const RoiAlignOptions& align) {
  at::Tensor y =
      at::empty({regions.size(0), features.size(1), align.height, align.width}, features.options());
  launch_on(features, features.sizes(), regions.size(0), align,
            [&](const CudaLibrary& library, const RoiAlignCall& call) {
              return library.roi_align(call, features.const_data_ptr(), regions.const_data_ptr(),
                                       y.mutable_data_ptr());
            });
  return y;
}

at::Tensor roi_align_backward_cuda(const at::Tensor& g, const at::Tensor& regions,
                                   at::IntArrayRef sizes, const RoiAlignOptions& align) {
  at::Tensor dx = at::zeros(sizes, regions.options());  // summed in the type of the coordinates
  launch_on(g, sizes, regions.size(0), align,
            [&](const CudaLibrary& library, const RoiAlignCall& call) {
              return library.roi_align_backward(call, g.const_data_ptr(), regions.const_data_ptr(),
                                                dx.mutable_data_ptr());
            });
  return dx.to(g.scalar_type());
}

}  // namespace fathom::ops
