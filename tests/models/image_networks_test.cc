// What the image networks promise beside the table's facts (models_test.cc).
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <string>
#include <vector>

#include "models/layers.h"
#include "models/step.h"
#include "models/table.h"
#include "tests/fixtures/images/jpeg_files.h"
#include "tests/temporary_folder.h"

namespace fathom::models {
namespace {

TEST(ImageWorkloads, TrainAndInferOnFiles) {
  const tests::TemporaryFolder data;
  for (int i = 0; i < 8; ++i) {
    const std::string name = "n0000000" + std::to_string(i % 2) + '/' + std::to_string(i) + ".JPEG";
    data.write("imagenet/train/" + name,
               fixtures::encode_jpeg(tests::smooth_picture(40 + i, 30), 90));
  }
  for (const auto mode : {Mode::kTrain, Mode::kInfer}) {
    StepOptions options{.mode = mode, .batch = 2, .scale = Scale::kSmall};
    options.data.directory = data.path();
    Step step(workload("vgg"), options);
    for (int i = 0; i < 5; ++i) step.run();
    EXPECT_TRUE(at::isfinite(step.result()).all().item<bool>());
    EXPECT_EQ(step.skipped_items(), 0);
  }
}

TEST(Vgg, KeepsOneMomentumBufferAParameter) {
  const auto vgg = workload("vgg").make(Scale::kSmall);
  EXPECT_TRUE(vgg->optimizer_state().empty());
  vgg->loss(vgg->pool({.batch = 2}).batches[0]).backward();
  vgg->update();
  EXPECT_EQ(vgg->optimizer_state().size(), vgg->module().parameters().size());
}

TEST(Vgg, DropsOutInTrainingOnly) {
  const auto vgg = workload("vgg").make(Scale::kSmall);
  const auto batch = vgg->pool({.batch = 2}).batches[0];
  vgg->module().eval();
  EXPECT_TRUE(at::equal(vgg->infer(batch), vgg->infer(batch)));
  vgg->module().train();
  EXPECT_FALSE(at::equal(vgg->infer(batch), vgg->infer(batch)));
}

/// Every buffer that is not counted among the parameters: the running statistics.
std::vector<at::Tensor> statistics(Workload& workload) {
  std::vector<at::Tensor> copies;
  for (const auto& buffer : workload.module().buffers()) copies.push_back(buffer.clone());
  return copies;
}

TEST(Residual, MovesItsStatisticsInTrainingOnly) {
  const auto residual = workload("residual").make(Scale::kSmall);
  const auto batch = residual->pool({.batch = 2}).batches[0];
  const auto before = statistics(*residual);
  ASSERT_FALSE(before.empty());
  residual->module().eval();
  residual->infer(batch);
  const auto after_eval = statistics(*residual);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(at::equal(before[i], after_eval[i]));
  residual->module().train();
  residual->infer(batch);
  const auto after_training = statistics(*residual);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_FALSE(at::equal(before[i], after_training[i]));
  }
}

TEST(SamePad, PutsTheOddPixelBehind) {
  // TensorFlow's SAME: 11 x 11 with stride 4 on 224 pads 3 and 4 (models of 2016 rely on it).
  const at::Tensor padded = SamePad(11, 4)->forward(at::ones({1, 1, 224, 224}));
  EXPECT_EQ(padded.size(2), 224 + 3 + 4);
  EXPECT_EQ(padded[0][0][2].sum().item<float>(), 0);
  EXPECT_EQ(padded[0][0][3].sum().item<float>(), 224);
  EXPECT_EQ(padded[0][0][226].sum().item<float>(), 224);
  EXPECT_EQ(padded[0][0][227].sum().item<float>(), 0);
}

TEST(SamePad, LeavesAnEvenFitAlone) {
  EXPECT_EQ(SamePad(2, 2)->forward(at::ones({1, 1, 8, 8})).size(2), 8);
}

TEST(Adam, KeepsTwoBuffersAParameter) {
  const auto repo = workload("vgg_repo").make(Scale::kSmall);
  repo->loss(repo->pool({.batch = 2}).batches[0]).backward();
  repo->update();
  EXPECT_EQ(repo->optimizer_state().size(), 2 * repo->module().parameters().size());
}

}  // namespace
}  // namespace fathom::models
