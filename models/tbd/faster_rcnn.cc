// faster_rcnn: Ren, He, Girshick and Sun, "Faster R-CNN: Towards Real-Time Object Detection with
// Region Proposal Networks", 2015, on ResNet-101 up to its third stage ("C4") with end-to-end
// training, 128 regions an image.
#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/smooth_l1_loss.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/functional/loss.h>

#include <algorithm>
#include <vector>

#include "fixtures/images/detection_images.h"
#include "models/optimizers.h"
#include "models/table.h"
#include "models/tbd/boxes.h"
#include "models/tbd/faster_rcnn_net.h"
#include "ops/kernels/nms.h"

namespace fathom::models {
namespace {

/// How many proposals an image has.
struct ProposalCounts {
  int64_t candidates;  ///< the best by score
  int64_t kept;        ///< of these, after non-maximum suppression
};

struct Sizes {
  fixtures::DetectionShape image;
  FasterRcnnWidths widths;
  AnchorSizes anchors;
  ProposalCounts training;
  ProposalCounts inference;
  int64_t sampled_anchors;  ///< an image, for the loss
  int64_t sampled_regions;  ///< an image, for the loss
  int64_t detections;       ///< an image, at most
};

Sizes sizes_of(Scale scale) {
  const std::vector<double> ratios{0.5, 1, 2};
  if (scale == Scale::kFull) {
    return {.image = {.height = 608, .width = 800, .classes = 21},
            .widths = {.stem = 64,
                       .stages = {{{3, 64}, {4, 128}, {23, 256}, {3, 512}}},
                       .proposals = 512,
                       .anchors = 9,
                       .classes = 21,
                       .region_side = 14},
            .anchors = {.stride = 16, .sides = {128, 256, 512}, .ratios = ratios},
            .training = {.candidates = 12'000, .kept = 2'000},
            .inference = {.candidates = 6'000, .kept = 300},
            .sampled_anchors = 256,
            .sampled_regions = 128,
            .detections = 100};
  }
  return {.image = {.height = 96, .width = 128, .classes = 4},
          .widths = {.stem = 8,
                     .stages = {{{1, 8}, {1, 8}, {2, 16}, {1, 16}}},
                     .proposals = 32,
                     .anchors = 9,
                     .classes = 4,
                     .region_side = 6},
          .anchors = {.stride = 16, .sides = {24, 40, 64}, .ratios = ratios},
          .training = {.candidates = 200, .kept = 50},
          .inference = {.candidates = 100, .kept = 20},
          .sampled_anchors = 64,
          .sampled_regions = 32,
          .detections = 10};
}

constexpr double kProposalOverlap = 0.7;    ///< of two proposals, at most
constexpr double kDetectionOverlap = 0.3;   ///< of two detections of a class, at most
constexpr double kSmallestScore = 0.05;     ///< of a detection
constexpr double kSmallestSide = 1;         ///< of a proposal, in pixels
constexpr double kObjectAnchor = 0.7;       ///< overlap from which an anchor is on an object
constexpr double kBackgroundAnchor = 0.3;   ///< overlap below which an anchor is on the background
constexpr double kObjectRegion = 0.5;       ///< overlap from which a region is on an object
constexpr double kObjectShare = 0.25;       ///< of the sampled regions, at most
constexpr double kBeta = 1.0 / 9;           ///< where smooth L1 changes from a square to a line
constexpr BoxWeights kAnchorWeights{1, 1};  ///< of the differences between boxes
constexpr BoxWeights kRegionWeights{10, 5};

/// Up to `count` of the positions where `chosen` [M] is true, at random. Drawn on the CPU, so that
/// a GPU draws the same.
at::Tensor sample(const at::Tensor& chosen, int64_t count) {
  const at::Tensor positions = chosen.nonzero().squeeze(1);
  const int64_t found = positions.size(0);
  const at::Tensor order = at::randperm(found, at::kLong).narrow(0, 0, std::min(count, found));
  return positions.index_select(0, order.to(positions.device()));
}

/// Which boxes are on objects.
struct Assigned {
  at::Tensor overlap;  ///< [B], with the object that the box overlaps most
  at::Tensor object;   ///< [B], int64, this object
};

Assigned assign(const at::Tensor& object_overlaps) {
  auto [overlap, object] = object_overlaps.max(0);
  return {.overlap = overlap, .object = object};
}

at::Tensor box_loss(const at::Tensor& found, const at::Tensor& wanted, int64_t samples) {
  return at::smooth_l1_loss(found, wanted, at::Reduction::Sum, kBeta) /
         static_cast<double>(samples);
}

class FasterRcnn final : public Workload {
 public:
  explicit FasterRcnn(Sizes sizes) : sizes_(std::move(sizes)), net_(sizes_.widths) {}

  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    return fixtures::detection_images(sizes_.image, request);
  }
  /// Detections x1, y1, x2, y2, score, class by falling score; all are 0 after the last one.
  std::vector<int64_t> output_shape(int64_t batch) const override {
    return {batch, sizes_.detections, 6};
  }

  at::Tensor infer(const fixtures::Batch& batch) override;
  at::Tensor loss(const fixtures::Batch& batch) override;
  void update() override { optimizer_.step(*net_); }

  torch::nn::Module& module() override { return *net_; }
  std::vector<at::Tensor> optimizer_state() const override { return optimizer_.state(); }

 private:
  /// The objects of one image.
  struct Objects {
    at::Tensor boxes;    ///< [M, 4]
    at::Tensor classes;  ///< [M], int64
  };
  struct SampledRegions {
    at::Tensor regions;      ///< [R, 5]
    at::Tensor classes;      ///< [R], int64, 0 for the background
    at::Tensor differences;  ///< [F, 4] to the objects of the first F regions, which are on objects
  };

  const at::Tensor& anchors(const at::Tensor& features);
  std::vector<Objects> objects(const fixtures::Batch& batch) const;
  at::Tensor proposed(const at::Tensor& scores, const at::Tensor& differences,
                      const ProposalCounts& counts) const;
  at::Tensor proposal_loss(const at::Tensor& scores, const at::Tensor& differences,
                           const at::Tensor& boxes) const;
  SampledRegions sample_regions(const at::Tensor& proposals, const Objects& objects,
                                int64_t image) const;
  at::Tensor detected(const at::Tensor& regions, const at::Tensor& logits,
                      const at::Tensor& differences) const;

  Sizes sizes_;
  FasterRcnnNet net_;
  Optimizer optimizer_ = momentum(0.001, 0.9, 5e-4);
  at::Tensor anchors_;  ///< [A, 4], made at the first call, on the device
};

/// Boxes [M, 4] as regions [M, 5] of an image of the batch.
at::Tensor regions_of(const at::Tensor& boxes, int64_t image) {
  const at::Tensor numbers = at::full({boxes.size(0), 1}, image, boxes.options());
  return at::cat({numbers, boxes}, 1);
}

const at::Tensor& FasterRcnn::anchors(const at::Tensor& features) {
  if (!anchors_.defined()) {
    anchors_ = anchor_boxes(sizes_.anchors, features.size(2), features.size(3))
                   .to(features.device(), net_->parameters()[0].scalar_type());
  }
  return anchors_;
}

std::vector<FasterRcnn::Objects> FasterRcnn::objects(const fixtures::Batch& batch) const {
  const at::Tensor& boxes = batch[fixtures::kBoxes];
  std::vector<Objects> images;
  for (int64_t i = 0; i < batch[fixtures::kDetectionImages].size(0); ++i) {
    const at::Tensor here = boxes.select(1, 0).eq(i).nonzero().squeeze(1);
    images.push_back({.boxes = boxes.index_select(0, here).narrow(1, 1, 4),
                      .classes = batch[fixtures::kBoxClasses].index_select(0, here)});
  }
  return images;
}

/// The proposals [P, 4] of one image by falling score, from scores [A] and differences [A, 4].
at::Tensor FasterRcnn::proposed(const at::Tensor& scores, const at::Tensor& differences,
                                const ProposalCounts& counts) const {
  const auto [best, which] = scores.detach().topk(std::min(counts.candidates, scores.size(0)));
  const at::Tensor moves = differences.detach().index_select(0, which).unsqueeze(1);
  const at::Tensor boxes = moved_boxes(anchors_.index_select(0, which), moves, kAnchorWeights,
                                       sizes_.image.height, sizes_.image.width)
                               .squeeze(1);
  const at::Tensor sides = boxes.narrow(1, 2, 2) - boxes.narrow(1, 0, 2);
  const at::Tensor large = sides.ge(kSmallestSide).all(1).nonzero().squeeze(1);
  const at::Tensor candidates = boxes.index_select(0, large);
  const at::Tensor kept = ops::nms(
      candidates, best.index_select(0, large).to(candidates.scalar_type()), kProposalOverlap);
  return candidates.index_select(0, kept.narrow(0, 0, std::min(counts.kept, kept.size(0))));
}

/// The loss of one image's scores [A] and differences [A, 4], for objects with `boxes` [M, 4].
at::Tensor FasterRcnn::proposal_loss(const at::Tensor& scores, const at::Tensor& differences,
                                     const at::Tensor& boxes) const {
  const at::Tensor all = overlaps(boxes, anchors_);  // [M, A]
  const Assigned assigned = assign(all);
  const at::Tensor best_of_object =
      all.eq(all.amax(1, /*keepdim=*/true)).logical_and(all.gt(0)).any(0);
  const at::Tensor on_object = assigned.overlap.ge(kObjectAnchor).logical_or(best_of_object);
  const at::Tensor on_background =
      assigned.overlap.lt(kBackgroundAnchor).logical_and(best_of_object.logical_not());

  const at::Tensor positive = sample(on_object, sizes_.sampled_anchors / 2);
  const at::Tensor negative = sample(on_background, sizes_.sampled_anchors - positive.size(0));
  const at::Tensor sampled = at::cat({positive, negative});
  const at::Tensor labels =
      at::cat({at::ones(positive.size(0), scores.options().dtype(at::kFloat)),
               at::zeros(negative.size(0), scores.options().dtype(at::kFloat))});
  const at::Tensor wanted = box_differences(
      anchors_.index_select(0, positive),
      boxes.index_select(0, assigned.object.index_select(0, positive)), kAnchorWeights);
  return at::binary_cross_entropy_with_logits(scores.index_select(0, sampled), labels) +
         box_loss(differences.index_select(0, positive), wanted, sampled.size(0));
}

/// Regions from one image's proposals and its objects' own boxes.
FasterRcnn::SampledRegions FasterRcnn::sample_regions(const at::Tensor& proposals,
                                                      const Objects& objects, int64_t image) const {
  const at::Tensor boxes = at::cat({proposals, objects.boxes});
  const Assigned assigned = assign(overlaps(objects.boxes, boxes));
  const at::Tensor on_object = assigned.overlap.ge(kObjectRegion);
  const auto most =
      static_cast<int64_t>(kObjectShare * static_cast<double>(sizes_.sampled_regions));
  const at::Tensor positive = sample(on_object, most);
  const at::Tensor negative =
      sample(on_object.logical_not(), sizes_.sampled_regions - positive.size(0));

  const at::Tensor object = assigned.object.index_select(0, positive);
  const at::Tensor background = at::zeros(negative.size(0), objects.classes.options());
  return {.regions = regions_of(boxes.index_select(0, at::cat({positive, negative})), image),
          .classes = at::cat({objects.classes.index_select(0, object), background}),
          .differences = box_differences(boxes.index_select(0, positive),
                                         objects.boxes.index_select(0, object), kRegionWeights)};
}

at::Tensor FasterRcnn::loss(const fixtures::Batch& batch) {
  const at::Tensor features = net_->features(batch[fixtures::kDetectionImages]);
  const auto [scores, differences] = net_->propose(features);
  anchors(features);

  std::vector<at::Tensor> proposal_losses;
  std::vector<at::Tensor> regions;
  std::vector<at::Tensor> classes;
  std::vector<at::Tensor> positions;  // of regions on objects, in the batch
  std::vector<at::Tensor> wanted;
  const std::vector<Objects> images = objects(batch);
  int64_t count = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto image = static_cast<int64_t>(i);
    proposal_losses.push_back(proposal_loss(scores[image], differences[image], images[i].boxes));
    const at::Tensor proposals = proposed(scores[image], differences[image], sizes_.training);
    const SampledRegions sampled = sample_regions(proposals, images[i], image);
    regions.push_back(sampled.regions);
    classes.push_back(sampled.classes);
    positions.push_back(
        at::arange(count, count + sampled.differences.size(0), sampled.classes.options()));
    wanted.push_back(sampled.differences);
    count += sampled.regions.size(0);
  }

  const auto found = net_->classify(features, at::cat(regions));
  const at::Tensor labels = at::cat(classes);
  const at::Tensor rows = at::cat(positions);
  const at::Tensor moves = found.differences.index({rows, labels.index_select(0, rows)});
  return at::stack(proposal_losses).mean() +
         torch::nn::functional::cross_entropy(found.logits, labels) +
         box_loss(moves, at::cat(wanted), count);
}

at::Tensor FasterRcnn::infer(const fixtures::Batch& batch) {
  const at::Tensor features = net_->features(batch[fixtures::kDetectionImages]);
  const auto [scores, differences] = net_->propose(features);
  anchors(features);

  std::vector<at::Tensor> regions;
  std::vector<int64_t> counts;
  for (int64_t i = 0; i < features.size(0); ++i) {
    regions.push_back(regions_of(proposed(scores[i], differences[i], sizes_.inference), i));
    counts.push_back(regions.back().size(0));
  }
  const auto found = net_->classify(features, at::cat(regions));
  const auto logits = found.logits.split_with_sizes(counts);
  const auto moves = found.differences.split_with_sizes(counts);
  std::vector<at::Tensor> detections;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    detections.push_back(detected(regions[i], logits[i], moves[i]));
  }
  return at::stack(detections);
}

/// The detections [D, 6] of one image, from its regions [R, 5], their logits [R, classes] and
/// differences [R, classes, 4].
at::Tensor FasterRcnn::detected(const at::Tensor& regions, const at::Tensor& logits,
                                const at::Tensor& differences) const {
  const at::Tensor all_scores = logits.to(regions.scalar_type()).softmax(1);
  const at::Tensor all_boxes = moved_boxes(regions.narrow(1, 1, 4), differences, kRegionWeights,
                                           sizes_.image.height, sizes_.image.width);
  at::Tensor likely = all_scores.gt(kSmallestScore);
  likely.select(1, 0).fill_(false);            // the background
  const at::Tensor places = likely.nonzero();  // [K, 2]: region, class
  const at::Tensor region = places.select(1, 0);
  const at::Tensor label = places.select(1, 1);
  const at::Tensor scores = all_scores.index({region, label});
  const at::Tensor boxes = all_boxes.index({region, label});

  // Boxes of different classes are moved apart, so that they do not overlap.
  const auto apart = static_cast<double>(2 * std::max(sizes_.image.height, sizes_.image.width));
  const at::Tensor moved = boxes + (label * apart).unsqueeze(1).to(boxes.scalar_type());
  const at::Tensor kept = ops::nms(moved, scores, kDetectionOverlap);
  const at::Tensor best = kept.narrow(0, 0, std::min(sizes_.detections, kept.size(0)));

  at::Tensor detections = at::zeros({sizes_.detections, 6}, boxes.options());
  const auto column = [&](const at::Tensor& values) {
    return values.index_select(0, best).to(boxes.scalar_type()).unsqueeze(1);
  };
  detections.narrow(0, 0, best.size(0))
      .copy_(at::cat({boxes.index_select(0, best), column(scores), column(label)}, 1));
  return detections;
}

}  // namespace

std::unique_ptr<Workload> make_faster_rcnn(Scale scale) {
  return std::make_unique<FasterRcnn>(sizes_of(scale));
}

}  // namespace fathom::models
