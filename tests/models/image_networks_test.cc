// Tests of the image networks alone. models_test.cc tests every workload.
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/dropout.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fixtures/machine/device.h"
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

class FullImageNetwork : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Table, FullImageNetwork, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& row : workloads()) {
                             if (row.dataset == "ImageNet") names.emplace_back(row.name);
                           }
                           return names;
                         }()),
                         [](const auto& network) { return network.param; });

/// Activations of full networks neither explode nor vanish.
TEST_P(FullImageNetwork, StartsNearTheLossOfChance) {
  fixtures::set_threads(1);
  const WorkloadRow& row = workload(GetParam());
  Step step(row, {.batch = row.batch});
  step.forward();
  const auto loss = step.result().item<double>();
  // Logits of variance v start at ln 1000 + v / 2. inception_v3 has two classifiers, the second
  // with the weight 0.4, and large logits: its weights have a standard deviation of 0.1.
  const bool inception = row.name == "inception_v3";
  const double chance = (inception ? 1.4 : 1) * std::log(1000);
  EXPECT_GT(loss, chance - 0.2);
  EXPECT_LT(loss, chance + (inception ? 4 : 1.5));
}

class Momentum : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Table, Momentum,
                         testing::Values("residual", "vgg", "alexnet", "resnet50", "inception_v3",
                                         "faster_rcnn"));

TEST_P(Momentum, MakesTheFirstUpdateWithTheRatesOfTheTable) {
  const WorkloadRow& row = workload(GetParam());
  double rate = 0;
  double decay = 0;
  ASSERT_EQ(std::sscanf(std::string(row.optimizer).c_str(),
                        "SGD %lf, momentum 0.9, weight decay %lf", &rate, &decay),
            2);
  const auto net = row.make(Scale::kSmall);
  const at::Tensor parameter = net->module().parameters().back();
  net->loss(net->batches({.batch = 2}).batches[0]).backward();
  const at::Tensor expected = parameter - rate * (parameter.grad() + decay * parameter);
  net->update();
  EXPECT_TRUE(at::allclose(parameter, expected, 0, 1e-3 * rate));
}

TEST(ImageNetworks, HaveTheirEpsilonsOfNormalisation) {
  for (const auto& [name, epsilon] :
       {std::pair{"residual", 1e-5}, {"resnet50", 1e-5}, {"inception_v3", 1e-3}}) {
    int norms = 0;
    for (const auto& module : workload(name).make(Scale::kSmall)->module().modules()) {
      const auto* norm = module->as<torch::nn::BatchNorm2dImpl>();
      if (norm == nullptr) continue;
      EXPECT_EQ(norm->options.eps(), epsilon) << name;
      EXPECT_EQ(norm->options.momentum(), 0.1) << name;
      ++norms;
    }
    EXPECT_GT(norms, 30) << name;
  }
}

TEST(ImageNetworks, HaveTheirProbabilitiesOfDropout) {
  const std::map<std::string, std::vector<double>> expected{
      {"vgg", {0.5, 0.5}},  {"vgg_repo", {0.2, 0.2}}, {"alexnet", {0.5, 0.5}},
      {"alexnet_repo", {}}, {"residual", {}},         {"residual_repo", {}},
      {"resnet50", {}},     {"inception_v3", {0.5}},
  };
  for (const auto& [name, probabilities] : expected) {
    std::vector<double> found;
    for (const auto& module : workload(name).make(Scale::kSmall)->module().modules()) {
      const auto* dropout = module->as<torch::nn::DropoutImpl>();
      if (dropout != nullptr) found.push_back(dropout->options.p());
    }
    EXPECT_EQ(found, probabilities) << name;
  }
}

TEST(Vgg, KeepsOneMomentumBufferAParameter) {
  const auto vgg = workload("vgg").make(Scale::kSmall);
  EXPECT_TRUE(vgg->optimizer_state().empty());
  vgg->loss(vgg->batches({.batch = 2}).batches[0]).backward();
  vgg->update();
  EXPECT_EQ(vgg->optimizer_state().size(), vgg->module().parameters().size());
}

TEST(Vgg, DropsOutInTrainingOnly) {
  const auto vgg = workload("vgg").make(Scale::kSmall);
  const auto batch = vgg->batches({.batch = 2}).batches[0];
  vgg->module().eval();
  EXPECT_TRUE(at::equal(vgg->infer(batch), vgg->infer(batch)));
  vgg->module().train();
  EXPECT_FALSE(at::equal(vgg->infer(batch), vgg->infer(batch)));
}

/// Copies of the buffers: the running statistics of batch normalisation.
std::vector<at::Tensor> statistics(Workload& workload) {
  std::vector<at::Tensor> copies;
  for (const auto& buffer : workload.module().buffers()) copies.push_back(buffer.clone());
  return copies;
}

TEST(Residual, MovesItsStatisticsInTrainingOnly) {
  const auto residual = workload("residual").make(Scale::kSmall);
  const auto batch = residual->batches({.batch = 2}).batches[0];
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
  // TensorFlow's SAME padding for 11 x 11 with stride 4 on 224 pixels is 3 before and 4 after.
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
  repo->loss(repo->batches({.batch = 2}).batches[0]).backward();
  repo->update();
  EXPECT_EQ(repo->optimizer_state().size(), 2 * repo->module().parameters().size());
}

}  // namespace
}  // namespace fathom::models
