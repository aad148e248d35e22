// faster_rcnn: boxes, sampling, frozen layers and detections.
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "fixtures/images/detection_images.h"
#include "fixtures/machine/device.h"
#include "models/table.h"
#include "models/tbd/boxes.h"
#include "models/tbd/detection_targets.h"

namespace fathom::models {
namespace {

using fixtures::Batch;
using Box = std::array<float, 4>;

at::Tensor boxes_of(const std::vector<Box>& boxes) {
  std::vector<float> values;
  for (const auto& box : boxes) values.insert(values.end(), box.begin(), box.end());
  return at::tensor(values).view({-1, 4});
}

/// Boxes within 100 x 100 pixels, with sides of at least 1.
at::Tensor random_boxes(int64_t count) {
  const at::Tensor corner = at::rand({count, 2}) * 50;
  return at::cat({corner, corner + 1 + at::rand({count, 2}) * 49}, 1);
}

TEST(Boxes, HaveAnchorsOfEqualAreaAtEachPlace) {
  const AnchorSizes sizes{.stride = 16, .sides = {32, 64}, .ratios = {0.25, 1, 4}};
  const at::Tensor anchors = anchor_boxes(sizes, 2, 3).view({2, 3, 6, 4});
  EXPECT_TRUE(at::equal(anchors[0][0], boxes_of({{-32, -8, 32, 8},
                                                 {-64, -16, 64, 16},
                                                 {-16, -16, 16, 16},
                                                 {-32, -32, 32, 32},
                                                 {-8, -32, 8, 32},
                                                 {-16, -64, 16, 64}})));
  EXPECT_TRUE(at::equal(anchors[1][2], anchors[0][0] + at::tensor({32, 16, 32, 16})));
}

float overlap(const Box& a, const Box& b) {
  const auto area = [](const Box& box) { return (box[2] - box[0]) * (box[3] - box[1]); };
  const float width = std::min(a[2], b[2]) - std::max(a[0], b[0]);
  const float height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  const float common = std::max(width, 0.0F) * std::max(height, 0.0F);
  return common / (area(a) + area(b) - common);
}

TEST(Boxes, OverlapByIntersectionOverUnion) {
  const std::vector<Box> a{{0, 0, 10, 10}, {5, 5, 20, 25}, {30, 30, 40, 40}};
  const std::vector<Box> b{{0, 0, 10, 10}, {2, 3, 8, 30}};
  const at::Tensor found = overlaps(boxes_of(a), boxes_of(b));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      EXPECT_FLOAT_EQ(found[static_cast<int64_t>(i)][static_cast<int64_t>(j)].item<float>(),
                      overlap(a[i], b[j]));
    }
  }
}

TEST(Boxes, MoveByTheirDifferences) {
  at::manual_seed(1);
  const at::Tensor boxes = random_boxes(20);
  const at::Tensor targets = random_boxes(20);
  const BoxWeights weights{10, 5};
  const at::Tensor differences = box_differences(boxes, targets, weights);
  const at::Tensor moved = moved_boxes(boxes, differences.unsqueeze(1), weights, 100, 100);
  EXPECT_LT((moved.squeeze(1) - targets).abs().max().item<float>(), 1e-3);
}

TEST(Boxes, StayInTheImage) {
  const at::Tensor box = boxes_of({{10, 10, 20, 20}});
  const at::Tensor far = at::tensor({-5.0F, 9.0F, 100.0F, 100.0F}).view({1, 1, 4});
  const at::Tensor moved = moved_boxes(box, far, {1, 1}, 60, 80).view({4});
  EXPECT_TRUE(at::equal(moved, at::tensor({0.0F, 0.0F, 80.0F, 60.0F})));
}

TEST(Boxes, GrowAtMostByAFactor) {
  const at::Tensor box = boxes_of({{500, 500, 501, 502}});
  const at::Tensor far = at::tensor({0.0F, 0.0F, 9.0F, 9.0F}).view({1, 1, 4});
  const at::Tensor moved = moved_boxes(box, far, {1, 1}, 1000, 1000).view({4});
  EXPECT_NEAR((moved[2] - moved[0]).item<double>(), 62.5, 1e-3);
  EXPECT_NEAR((moved[3] - moved[1]).item<double>(), 125, 1e-3);
}

/// A box whose overlap with {0, 0, 100, 100} is `overlap`.
Box overlapping(float overlap) { return {0, 0, 100, 100 * overlap}; }

/// The best anchor and those from 0.7 on are objects, those below 0.3 background.
TEST(Anchors, AreLabelledByTheirOverlap) {
  const at::Tensor anchors = boxes_of({overlapping(0.95F),
                                       overlapping(0.71F),
                                       overlapping(0.69F),
                                       overlapping(0.31F),
                                       overlapping(0.29F),
                                       {200, 200, 300, 300},
                                       {300, 300, 340, 400}});
  const at::Tensor objects = boxes_of({{0, 0, 100, 100}, {300, 300, 400, 400}});
  const at::Tensor scores = at::zeros({7}).requires_grad_();
  proposal_loss(scores, at::zeros({7, 4}), anchors, objects, 100).backward();
  EXPECT_TRUE(
      at::equal(scores.grad().sign(), at::tensor({-1.0F, -1.0F, 0.0F, 0.0F, 1.0F, 1.0F, -1.0F})));
}

TEST(Anchors, OnObjectsAreAtMostHalf) {
  const at::Tensor anchors = at::cat(
      {boxes_of({overlapping(1)}).expand({20, 4}), boxes_of({overlapping(0.1F)}).expand({20, 4})});
  const at::Tensor scores = at::zeros({40}).requires_grad_();
  proposal_loss(scores, at::zeros({40, 4}), anchors, boxes_of({overlapping(1)}), 12).backward();
  EXPECT_EQ(scores.grad().lt(0).sum().item<int64_t>(), 6);
  EXPECT_EQ(scores.grad().gt(0).sum().item<int64_t>(), 6);
}

TEST(Regions, AreOnAnObjectFromAnOverlapOfAHalf) {
  const Objects objects{.boxes = boxes_of({overlapping(1)}),
                        .classes = at::full({1}, 7, at::kLong)};
  const at::Tensor proposals = boxes_of({overlapping(0.51F), overlapping(0.49F)});
  const SampledRegions few = sample_regions(proposals, objects, 100);
  EXPECT_EQ(few.boxes.size(0), 3);  // with the object's own box
  EXPECT_EQ(few.classes.sum().item<int64_t>(), 2 * 7);
  EXPECT_EQ(few.differences.size(0), 2);
  const at::Tensor many = proposals.repeat({20, 1});
  EXPECT_EQ(sample_regions(many, objects, 16).classes.sum().item<int64_t>(), 4 * 7);
}

/// A square up to 1/9, then a line.
TEST(BoxLoss, IsSmoothL1) {
  const at::Tensor found = at::tensor({0.1, 2.0});
  EXPECT_NEAR(box_loss(found, at::zeros_like(found), 4).item<double>(),
              (0.5 * 0.1 * 0.1 * 9 + 2 - 0.5 / 9) / 4, 1e-6);
}

class FasterRcnn : public testing::Test {
 protected:
  FasterRcnn() {
    fixtures::set_threads(1);
    at::manual_seed(1);
    net_ = workload("faster_rcnn").make(Scale::kSmall);
  }
  Batch batch(int64_t size) const { return net_->batches({.batch = size, .seed = 2}).batches[0]; }

  std::unique_ptr<Workload> net_;
};

TEST_F(FasterRcnn, TrainsAllButTheFirstConvolutionAndStage) {
  int frozen = 0;
  for (const auto& parameter : net_->module().named_parameters()) {
    const bool first = parameter.key().find("stem") != std::string::npos ||
                       parameter.key().find("block1_") != std::string::npos;
    EXPECT_EQ(parameter->requires_grad(), !first) << parameter.key();
    frozen += first ? 1 : 0;
  }
  EXPECT_EQ(frozen, 5);  // the stem and a block with a shortcut
}

TEST_F(FasterRcnn, DetectsBoxesInTheImageByFallingScore) {
  const c10::NoGradGuard no_grad;
  const at::Tensor found = net_->infer(batch(3));
  for (int64_t image = 0; image < 3; ++image) {
    double last = 1;
    for (int64_t i = 0; i < found.size(1); ++i) {
      const auto value = [&](int64_t field) { return found[image][i][field].item<double>(); };
      if (value(4) == 0) {
        EXPECT_EQ(found[image][i].abs().sum().item<double>(), 0);
        last = 0;
        continue;
      }
      EXPECT_LE(value(4), last);
      EXPECT_GT(value(4), 0.05);
      EXPECT_GE(value(0), 0);
      EXPECT_LE(value(2), 128);
      EXPECT_LE(value(3), 96);
      EXPECT_LT(value(0), value(2));
      EXPECT_TRUE(value(5) >= 1 && value(5) <= 3);
      last = value(4);
    }
  }
}

TEST_F(FasterRcnn, KeepsOneOfTwoDetectionsOfAClassThatOverlapByMore) {
  const c10::NoGradGuard no_grad;
  double most = 0;
  for (const auto& image : net_->infer(batch(16)).unbind()) {
    const at::Tensor boxes = image.narrow(1, 0, 4);
    const at::Tensor classes = image.select(1, 5);
    const at::Tensor same = classes.unsqueeze(1).eq(classes).logical_and(classes.gt(0)).triu(1);
    most = std::max(most,
                    overlaps(boxes, boxes).masked_fill(same.logical_not(), 0).max().item<double>());
  }
  EXPECT_LE(most, 0.3);
  EXPECT_GT(most, 0.27);
}

/// All regions get the share `share` of each class.
TEST_F(FasterRcnn, DetectsFromAScoreOn) {
  const c10::NoGradGuard no_grad;
  const auto parameters = net_->module().named_parameters();
  parameters["logits.weight"].zero_();
  const auto detections = [&](double share) {
    parameters["logits.bias"][0] = std::log(1 / share - 3);
    return net_->infer(batch(1)).select(2, 4).gt(0).sum().item<int64_t>();
  };
  EXPECT_EQ(detections(0.0499), 0);
  EXPECT_GT(detections(0.0501), 0);
}

/// All proposals are squares of `side` pixels.
TEST_F(FasterRcnn, ProposesFromASideOn) {
  const c10::NoGradGuard no_grad;
  const auto parameters = net_->module().named_parameters();
  const at::Tensor anchors = net_->module().named_buffers()["anchors"];
  parameters["anchor_boxes.weight"].zero_();
  const auto detections = [&](double side) {
    const at::Tensor bias = parameters["anchor_boxes.bias"].view({-1, 4});
    for (int64_t i = 0; i < bias.size(0); ++i) {
      bias[i][2] = at::log(side / (anchors[i][2] - anchors[i][0]));
      bias[i][3] = at::log(side / (anchors[i][3] - anchors[i][1]));
    }
    return net_->infer(batch(1)).select(2, 4).gt(0).sum().item<int64_t>();
  };
  EXPECT_EQ(detections(0.99), 0);
  EXPECT_GT(detections(1.01), 0);
}

/// Four images of noise, each with one bright square of 40 x 40 pixels and class 2.
Batch squares() {
  at::Tensor images = at::rand({4, 3, 96, 128}).sub_(0.5);
  at::Tensor boxes = at::zeros({4, 5});
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t left = 10 + 18 * i;
    const int64_t top = 8 + 12 * i;
    images[i].narrow(1, top, 40).narrow(2, left, 40).add_(3);
    boxes[i].copy_(at::tensor({i, left, top, left + 40, top + 40}));
  }
  return {images, boxes, at::zeros({4}, at::kLong).fill_(2)};
}

TEST_F(FasterRcnn, FindsTheOneSquareInImages) {
  const Batch batch = squares();
  std::vector<at::Tensor> trained;
  for (const auto& parameter : net_->module().parameters()) {
    if (parameter.requires_grad()) trained.push_back(parameter);
  }
  torch::optim::Adam adam(trained, 2e-3);
  for (int step = 0; step < 150; ++step) {
    adam.zero_grad();
    net_->loss(batch).backward();
    adam.step();
  }
  const c10::NoGradGuard no_grad;
  const at::Tensor found = net_->infer(batch).select(1, 0);  // the best of each image
  const at::Tensor wanted = batch[fixtures::kBoxes].narrow(1, 1, 4);
  EXPECT_GT(overlaps(found.narrow(1, 0, 4), wanted).diagonal().min().item<float>(), 0.5);
  EXPECT_TRUE(found.select(1, 5).eq(2).all().item<bool>());
}

}  // namespace
}  // namespace fathom::models
