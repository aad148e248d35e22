#include "ops/kernels/detection/nms_cuda.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>

#include "ops/core/buffer.h"
#include "ops/cuda/library.h"
#include "ops/kernels/cuda/nms.h"

namespace fathom::ops {

bool has_nms_cuda(const at::Tensor& boxes) { return boxes.is_cuda() && cuda_library() != nullptr; }

at::Tensor nms_cuda(const at::Tensor& boxes, double max_overlap) {
  const c10::DeviceGuard guard(boxes.device());
  const int64_t count = boxes.size(0);
  const auto options = boxes.options().dtype(at::kLong);
  const at::Tensor mask = at::empty({count, mask_words(count)}, options);
  at::Tensor kept = at::empty({count + 1}, options);  // and their number
  const char* error = cuda_library()->nms(
      {.element = element(boxes.scalar_type()).value(),
       .boxes = boxes.const_data_ptr(),
       .count = count,
       .max_overlap = max_overlap,
       .mask = static_cast<uint64_t*>(mask.mutable_data_ptr()),
       .kept = kept.mutable_data_ptr<int64_t>(),
       .stream = at::accelerator::getCurrentStream(boxes.device().index()).native_handle()});
  TORCH_CHECK(error == nullptr, "nms on ", boxes.device(), ": ", error);
  return kept.narrow(0, 0, kept[count].item<int64_t>());
}

}  // namespace fathom::ops
