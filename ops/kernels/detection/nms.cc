#include "ops/kernels/detection/nms.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>

#include "ops/kernels/detection/nms_cpu.h"
#include "ops/kernels/detection/nms_cuda.h"

namespace fathom::ops {
namespace {

/// Positions by falling score, the first of equal scores first.
at::Tensor order(const at::Tensor& scores) {
  return scores.argsort(/*stable=*/true, /*dim=*/0, /*descending=*/true);
}

at::Tensor sorted(const at::Tensor& boxes, const at::Tensor& positions) {
  const auto number = boxes.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return boxes.index_select(0, positions).to(number);
}

at::Tensor areas(const at::Tensor& boxes) {
  return (boxes.select(1, 2) - boxes.select(1, 0)) * (boxes.select(1, 3) - boxes.select(1, 1));
}

/// Which of `boxes` intersect the first one in more than `max_overlap` of their union.
at::Tensor overlaps_of_first(const at::Tensor& boxes, double max_overlap) {
  const at::Tensor one = boxes.narrow(0, 0, 1);
  const at::Tensor corner = at::maximum(boxes.slice(1, 0, 2), one.slice(1, 0, 2));
  const at::Tensor extent = (at::minimum(boxes.slice(1, 2), one.slice(1, 2)) - corner).clamp_min(0);
  const at::Tensor common = extent.select(1, 0) * extent.select(1, 1);
  return (common / (areas(one) + areas(boxes) - common)).gt(max_overlap);
}

}  // namespace

at::Tensor composed_nms(const at::Tensor& boxes, const at::Tensor& scores, double max_overlap) {
  const c10::NoGradGuard no_gradient;
  at::Tensor left = order(scores);
  at::Tensor left_boxes = sorted(boxes, left);
  std::vector<at::Tensor> kept;
  while (left.size(0) > 0) {
    kept.push_back(left.narrow(0, 0, 1));
    at::Tensor apart = overlaps_of_first(left_boxes, max_overlap).logical_not();
    apart[0].fill_(false);
    const at::Tensor next = apart.nonzero().squeeze(1);
    left = left.index_select(0, next);
    left_boxes = left_boxes.index_select(0, next);
  }
  return kept.empty() ? left : at::cat(kept);
}

at::Tensor nms(const at::Tensor& boxes, const at::Tensor& scores, double max_overlap) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:nms", (std::vector<c10::IValue>{boxes, scores, max_overlap}));
  TORCH_CHECK(boxes.dim() == 2 && boxes.size(1) == 4, "nms: boxes have shape ", boxes.sizes(),
              ", expected [M, 4]");
  TORCH_CHECK(scores.dim() == 1 && scores.size(0) == boxes.size(0), "nms: scores have shape ",
              scores.sizes(), ", expected [", boxes.size(0), "]");
  if (!boxes.is_cpu() && !has_nms_cuda(boxes)) return composed_nms(boxes, scores, max_overlap);
  const c10::NoGradGuard no_gradient;
  const at::Tensor positions = order(scores);
  const at::Tensor candidates = sorted(boxes, positions);
  const at::Tensor kept =
      boxes.is_cpu() ? nms_cpu(candidates, max_overlap) : nms_cuda(candidates, max_overlap);
  return positions.index_select(0, kept);
}

}  // namespace fathom::ops
