#include "ops/kernels/detection/roi_align.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/grid_sampler.h>
#include <ATen/ops/stack.h>
#include <ATen/record_function.h>

#include "ops/core/autograd/custom_function.h"
#include "ops/kernels/detection/roi_align_cpu.h"
#include "ops/kernels/detection/roi_align_cuda.h"

namespace fathom::ops {
namespace {

/// grid_sampler's codes.
constexpr int64_t kBilinear = 0;
constexpr int64_t kBorder = 1;

/// Positions [R, bins * samples] of the samples along an axis, in pixels.
at::Tensor positions(const at::Tensor& first, const at::Tensor& last, int64_t bins,
                     const RoiAlignOptions& align) {
  const at::Tensor start = first * align.scale;
  const at::Tensor length = (last * align.scale - start).clamp_min(1);
  const int64_t points = bins * align.samples;
  const at::Tensor share = (at::arange(points, first.options()) + 0.5) / points;
  return start.unsqueeze(1) + length.unsqueeze(1) * share.unsqueeze(0);
}

/// Whether a sample lies in the image or up to one pixel outside.
at::Tensor inside(const at::Tensor& position, int64_t extent) {
  return position.ge(-1).logical_and(position.le(extent));
}

/// Positions in grid_sampler's coordinates: -1 and 1 are the centres of the first and last pixel.
at::Tensor normalised(const at::Tensor& position, int64_t extent) {
  const at::Tensor within = position.clamp(0, extent - 1);
  return within * (2.0 / static_cast<double>(std::max<int64_t>(extent - 1, 1))) - 1;
}

/// Aligns regions [R, 4] of one image [1, C, H, W].
at::Tensor composed_image(const at::Tensor& image, const at::Tensor& boxes,
                          const RoiAlignOptions& align) {
  const int64_t regions = boxes.size(0);
  const int64_t rows = align.height * align.samples;
  const int64_t columns = align.width * align.samples;
  const at::Tensor x = positions(boxes.select(1, 0), boxes.select(1, 2), align.width, align);
  const at::Tensor y = positions(boxes.select(1, 1), boxes.select(1, 3), align.height, align);
  const at::Tensor grid =
      at::stack({normalised(x, image.size(3)).unsqueeze(1).expand({regions, rows, columns}),
                 normalised(y, image.size(2)).unsqueeze(2).expand({regions, rows, columns})},
                3);
  const at::Tensor sampled =
      at::grid_sampler(image, grid.view({1, regions * rows, columns, 2}), kBilinear, kBorder,
                       /*align_corners=*/true)
          .view({-1, regions, rows, columns});
  const at::Tensor seen =
      inside(y, image.size(2)).unsqueeze(2).logical_and(inside(x, image.size(3)).unsqueeze(1));
  return at::avg_pool2d(sampled * seen, {align.samples, align.samples}).transpose(0, 1);
}

at::Tensor forward(const at::Tensor& features, const at::Tensor& regions,
                   const RoiAlignOptions& align) {
  return features.is_cpu() ? roi_align_cpu(features, regions, align)
                           : roi_align_cuda(features, regions, align);
}

at::Tensor backward(const at::Tensor& g, const at::Tensor& regions, at::IntArrayRef sizes,
                    const RoiAlignOptions& align) {
  return g.is_cpu() ? roi_align_backward_cpu(g, regions, sizes, align)
                    : roi_align_backward_cuda(g, regions, sizes, align);
}

void check_shapes(const at::Tensor& features, const at::Tensor& regions,
                  const RoiAlignOptions& align) {
  TORCH_CHECK(features.dim() == 4 && features.size(2) > 0 && features.size(3) > 0,
              "roi_align: features have shape ", features.sizes(), ", expected [N, C, H, W]");
  TORCH_CHECK(regions.dim() == 2 && regions.size(1) == 5, "roi_align: regions have shape ",
              regions.sizes(), ", expected [R, 5]");
  TORCH_CHECK(align.height > 0 && align.width > 0 && align.samples > 0, "roi_align: the bins are ",
              align.height, " x ", align.width, " with ", align.samples,
              " samples, expected at least 1 of each");
}

}  // namespace

at::Tensor composed_roi_align(const at::Tensor& features, const at::Tensor& regions,
                              const RoiAlignOptions& align) {
  if (at::isReducedFloatingType(features.scalar_type())) {
    return composed_roi_align(features.to(at::kFloat), regions, align).to(features.scalar_type());
  }
  const at::Tensor typed = regions.to(features.scalar_type());
  const at::Tensor boxes = typed.slice(1, 1);
  if (features.size(0) == 1) return composed_image(features, boxes, align).contiguous();
  std::vector<at::Tensor> found;
  std::vector<at::Tensor> places;
  for (int64_t image = 0; image < features.size(0); ++image) {
    const at::Tensor here = typed.select(1, 0).eq(image).nonzero().squeeze(1);
    if (here.size(0) == 0) continue;  // avg_pool2d needs at least one region
    places.push_back(here);
    found.push_back(
        composed_image(features.narrow(0, image, 1), boxes.index_select(0, here), align));
  }
  return at::cat(found).index_select(0, at::cat(places).argsort());
}

at::Tensor roi_align(const at::Tensor& features, const at::Tensor& regions,
                     const RoiAlignOptions& align) {
  RECORD_USER_SCOPE_WITH_INPUTS(
      "op:roi_align", (std::vector<c10::IValue>{features, regions, align.height, align.width,
                                                align.scale, align.samples}));
  check_shapes(features, regions, align);
  if (!features.is_cpu() && !has_roi_align_cuda(features))
    return composed_roi_align(features, regions, align);
  const at::Tensor input = features.contiguous();
  const auto number = input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor boxes = regions.detach().to(number).contiguous();
  return apply(
      {.forward =
           [&] {
             return CustomFunction::Result{{forward(input, boxes, align)}, {boxes}};
           },
       .backward = [align, sizes = input.sizes().vec()](
                       const CustomFunction::Request& request) -> CustomFunction::List {
         return {backward(request.gradients[0].contiguous(), request.saved[0], sizes, align)};
       }},
      {input})[0];
}

}  // namespace fathom::ops
