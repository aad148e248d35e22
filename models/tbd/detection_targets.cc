#include "models/tbd/detection_targets.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/smooth_l1_loss.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace fathom::models {
namespace {

constexpr double kObjectAnchor = 0.7;      ///< overlap from which an anchor is on an object
constexpr double kBackgroundAnchor = 0.3;  ///< overlap below which an anchor is on the background
constexpr double kObjectRegion = 0.5;      ///< overlap from which a region is on an object
constexpr double kBeta = 1.0 / 9;          ///< where smooth L1 changes from a square to a line

/// Up to `count` of the positions where `chosen` [M] is true, at random. Drawn on the CPU, so that
/// a GPU draws the same.
at::Tensor sample(const at::Tensor& chosen, int64_t count) {
  const at::Tensor positions = chosen.nonzero().squeeze(1);
  const int64_t found = positions.size(0);
  const at::Tensor order = at::randperm(found, at::kLong).narrow(0, 0, std::min(count, found));
  return positions.index_select(0, order.to(positions.device()));
}

/// `count` boxes: at most `most` on objects, then others.
struct Sampled {
  Sampled(const at::Tensor& on_object, const at::Tensor& on_background, int64_t most, int64_t count)
      : positive(sample(on_object, most)),
        negative(sample(on_background, count - positive.size(0))),
        all(at::cat({positive, negative})) {}

  at::Tensor positive;
  at::Tensor negative;
  at::Tensor all;
};

}  // namespace

at::Tensor box_loss(const at::Tensor& found, const at::Tensor& wanted, int64_t samples) {
  return at::smooth_l1_loss(found, wanted, at::Reduction::Sum, kBeta) /
         static_cast<double>(samples);
}

at::Tensor proposal_loss(const at::Tensor& scores, const at::Tensor& differences,
                         const at::Tensor& anchors, const at::Tensor& object_boxes, int64_t count) {
  const at::Tensor all = overlaps(object_boxes, anchors);  // [M, A]
  const auto [overlap, object] = all.max(0);
  const at::Tensor best_of_object =
      all.eq(all.amax(1, /*keepdim=*/true)).logical_and(all.gt(0)).any(0);
  const at::Tensor on_background =
      overlap.lt(kBackgroundAnchor).logical_and(best_of_object.logical_not());
  const Sampled sampled(overlap.ge(kObjectAnchor).logical_or(best_of_object), on_background,
                        count / 2, count);

  const auto options = scores.options().dtype(at::kFloat);
  const at::Tensor labels = at::cat(
      {at::ones(sampled.positive.size(0), options), at::zeros(sampled.negative.size(0), options)});
  const at::Tensor wanted = box_differences(
      anchors.index_select(0, sampled.positive),
      object_boxes.index_select(0, object.index_select(0, sampled.positive)), kAnchorWeights);
  return at::binary_cross_entropy_with_logits(scores.index_select(0, sampled.all), labels) +
         box_loss(differences.index_select(0, sampled.positive), wanted, sampled.all.size(0));
}

SampledRegions sample_regions(const at::Tensor& proposals, const Objects& objects, int64_t count) {
  const at::Tensor boxes = at::cat({proposals, objects.boxes});
  const auto [overlap, object] = overlaps(objects.boxes, boxes).max(0);
  const at::Tensor on_object = overlap.ge(kObjectRegion);
  const Sampled sampled(on_object, on_object.logical_not(), count / 4, count);

  const at::Tensor own = object.index_select(0, sampled.positive);
  const at::Tensor background = at::zeros(sampled.negative.size(0), objects.classes.options());
  return {.boxes = boxes.index_select(0, sampled.all),
          .classes = at::cat({objects.classes.index_select(0, own), background}),
          .differences = box_differences(boxes.index_select(0, sampled.positive),
                                         objects.boxes.index_select(0, own), kRegionWeights)};
}

}  // namespace fathom::models
