// faster_rcnn: Ren, He, Girshick and Sun, "Faster R-CNN: Towards Real-Time Object Detection with
// Region Proposal Networks", 2015, on ResNet-101 up to its third stage ("C4") with end-to-end
// training, 128 regions an image.
#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/functional/loss.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "fixtures/images/detection_images.h"
#include "models/optimizers.h"
#include "models/table.h"
#include "models/tbd/boxes.h"
#include "models/tbd/detection_targets.h"
#include "models/tbd/faster_rcnn_net.h"
#include "ops/kernels/detection/nms.h"

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

AnchorSizes anchors_of(std::vector<double> sides) {
  return {.stride = FasterRcnnNetImpl::kStride, .sides = std::move(sides), .ratios = {0.5, 1, 2}};
}

Sizes sizes_of(Scale scale) {
  if (scale == Scale::kFull) {
    const AnchorSizes anchors = anchors_of({128, 256, 512});
    return {.image = {.height = 608, .width = 800, .classes = 21},
            .widths = {.stem = 64,
                       .stages = {{{3, 64}, {4, 128}, {23, 256}, {3, 512}}},
                       .proposals = 512,
                       .anchors = anchors.per_place(),
                       .classes = 21,
                       .region_side = 14},
            .anchors = anchors,
            .training = {.candidates = 12'000, .kept = 2'000},
            .inference = {.candidates = 6'000, .kept = 300},
            .sampled_anchors = 256,
            .sampled_regions = 128,
            .detections = 100};
  }
  const AnchorSizes anchors = anchors_of({24, 40, 64});
  return {.image = {.height = 96, .width = 128, .classes = 4},
          .widths = {.stem = 8,
                     .stages = {{{1, 8}, {1, 8}, {2, 16}, {1, 16}}},
                     .proposals = 32,
                     .anchors = anchors.per_place(),
                     .classes = 4,
                     .region_side = 6},
          .anchors = anchors,
          .training = {.candidates = 200, .kept = 50},
          .inference = {.candidates = 100, .kept = 20},
          .sampled_anchors = 64,
          .sampled_regions = 32,
          .detections = 10};
}

constexpr double kProposalOverlap = 0.7;   ///< of two proposals, at most
constexpr double kDetectionOverlap = 0.3;  ///< of two detections of a class, at most
constexpr double kSmallestScore = 0.05;    ///< of a detection
constexpr double kSmallestSide = 1;        ///< of a proposal, in pixels

/// Boxes [M, 4] as regions [M, 5] of an image of the batch.
at::Tensor regions_of(const at::Tensor& boxes, int64_t image) {
  const at::Tensor numbers = at::full({boxes.size(0), 1}, image, boxes.options());
  return at::cat({numbers, boxes}, 1);
}

/// The objects of each image.
std::vector<Objects> objects_of(const fixtures::Batch& batch) {
  const at::Tensor& boxes = batch[fixtures::kBoxes];
  std::vector<Objects> images;
  for (int64_t i = 0; i < batch[fixtures::kDetectionImages].size(0); ++i) {
    const at::Tensor here = boxes.select(1, 0).eq(i).nonzero().squeeze(1);
    images.push_back({.boxes = boxes.index_select(0, here).narrow(1, 1, 4),
                      .classes = batch[fixtures::kBoxClasses].index_select(0, here)});
  }
  return images;
}

class FasterRcnn final : public Workload {
 public:
  explicit FasterRcnn(Sizes sizes)
      : sizes_(std::move(sizes)),
        net_(sizes_.widths),
        anchors_(net_->register_buffer(
            "anchors", anchor_boxes(sizes_.anchors, sizes_.image.height / sizes_.anchors.stride,
                                    sizes_.image.width / sizes_.anchors.stride))) {}

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
  at::Tensor proposed(const at::Tensor& scores, const at::Tensor& differences,
                      const ProposalCounts& counts) const;
  at::Tensor detected(const at::Tensor& regions, const at::Tensor& logits,
                      const at::Tensor& differences) const;

  Sizes sizes_;
  FasterRcnnNet net_;
  at::Tensor anchors_;  ///< [A, 4], a buffer of the network, so that it moves with it
  Optimizer optimizer_ = momentum(0.001, 0.9, 5e-4);
};

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

at::Tensor FasterRcnn::loss(const fixtures::Batch& batch) {
  const at::Tensor features = net_->features(batch[fixtures::kDetectionImages]);
  const auto [scores, differences] = net_->propose(features);
  const std::vector<Objects> images = objects_of(batch);
  // Two loops, so that random draws come in torchvision's order: the anchors of all images, then
  // the regions of all images.
  std::vector<at::Tensor> proposal_losses;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto image = static_cast<int64_t>(i);
    proposal_losses.push_back(proposal_loss(scores[image], differences[image], anchors_,
                                            images[i].boxes, sizes_.sampled_anchors));
  }
  std::vector<at::Tensor> regions;
  std::vector<at::Tensor> classes;
  std::vector<at::Tensor> wanted;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto image = static_cast<int64_t>(i);
    const at::Tensor proposals = proposed(scores[image], differences[image], sizes_.training);
    const SampledRegions sampled = sample_regions(proposals, images[i], sizes_.sampled_regions);
    regions.push_back(regions_of(sampled.boxes, image));
    classes.push_back(sampled.classes);
    wanted.push_back(sampled.differences);
  }

  const auto found = net_->classify(features, at::cat(regions));
  const at::Tensor labels = at::cat(classes);
  const at::Tensor on_objects = labels.nonzero().squeeze(1);
  const at::Tensor moves =
      found.differences.index({on_objects, labels.index_select(0, on_objects)});
  return at::stack(proposal_losses).mean() +
         torch::nn::functional::cross_entropy(found.logits, labels) +
         box_loss(moves, at::cat(wanted), labels.size(0));
}

at::Tensor FasterRcnn::infer(const fixtures::Batch& batch) {
  const at::Tensor features = net_->features(batch[fixtures::kDetectionImages]);
  const auto [scores, differences] = net_->propose(features);
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
