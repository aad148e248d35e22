#include "models/tbd/boxes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <cmath>

namespace fathom::models {
namespace {

/// Centres and sizes, each [M].
struct Centred {
  explicit Centred(const at::Tensor& boxes)
      : width(boxes.select(-1, 2) - boxes.select(-1, 0)),
        height(boxes.select(-1, 3) - boxes.select(-1, 1)),
        x(boxes.select(-1, 0) + 0.5 * width),
        y(boxes.select(-1, 1) + 0.5 * height) {}

  at::Tensor width;
  at::Tensor height;
  at::Tensor x;
  at::Tensor y;
};

}  // namespace

at::Tensor anchor_boxes(const AnchorSizes& sizes, int64_t height, int64_t width) {
  std::vector<float> centred;  // anchors around the origin
  for (const double ratio : sizes.ratios) {
    for (const double side : sizes.sides) {
      const auto half_width = static_cast<float>(std::round(side / std::sqrt(ratio) / 2));
      const auto half_height = static_cast<float>(std::round(side * std::sqrt(ratio) / 2));
      centred.insert(centred.end(), {-half_width, -half_height, half_width, half_height});
    }
  }
  const at::Tensor x = at::arange(width).mul(sizes.stride).to(at::kFloat).expand({height, width});
  const at::Tensor y =
      at::arange(height).mul(sizes.stride).to(at::kFloat).unsqueeze(1).expand({height, width});
  const at::Tensor places = at::stack({x, y, x, y}, -1);
  return (places.unsqueeze(2) + at::tensor(centred).view({1, 1, -1, 4})).reshape({-1, 4});
}

at::Tensor overlaps(const at::Tensor& a, const at::Tensor& b) {
  const auto area = [](const at::Tensor& boxes) {
    return (boxes.select(1, 2) - boxes.select(1, 0)) * (boxes.select(1, 3) - boxes.select(1, 1));
  };
  const at::Tensor first = at::maximum(a.narrow(1, 0, 2).unsqueeze(1), b.narrow(1, 0, 2));
  const at::Tensor last = at::minimum(a.narrow(1, 2, 2).unsqueeze(1), b.narrow(1, 2, 2));
  const at::Tensor common = (last - first).clamp_min_(0).prod(-1);
  return common / (area(a).unsqueeze(1) + area(b) - common);
}

at::Tensor box_differences(const at::Tensor& boxes, const at::Tensor& targets, BoxWeights weights) {
  const Centred from(boxes);
  const Centred to(targets);
  return at::stack(
      {weights[0] * (to.x - from.x) / from.width, weights[0] * (to.y - from.y) / from.height,
       weights[1] * (to.width / from.width).log(), weights[1] * (to.height / from.height).log()},
      1);
}

at::Tensor moved_boxes(const at::Tensor& boxes, const at::Tensor& differences, BoxWeights weights,
                       int64_t height, int64_t width) {
  const Centred from(boxes.unsqueeze(1));
  const double largest = std::log(1000.0 / 16);
  const auto centre = [&](int64_t i, const at::Tensor& start, const at::Tensor& size) {
    return start + differences.select(2, i) * size / weights[0];
  };
  const auto half = [&](int64_t i, const at::Tensor& size) {
    return 0.5 * size * (differences.select(2, i) / weights[1]).clamp_max(largest).exp();
  };
  const at::Tensor x = centre(0, from.x, from.width);
  const at::Tensor y = centre(1, from.y, from.height);
  const at::Tensor half_width = half(2, from.width);
  const at::Tensor half_height = half(3, from.height);
  const auto w = static_cast<double>(width);
  const auto h = static_cast<double>(height);
  return at::stack({(x - half_width).clamp(0, w), (y - half_height).clamp(0, h),
                    (x + half_width).clamp(0, w), (y + half_height).clamp(0, h)},
                   2);
}

}  // namespace fathom::models
