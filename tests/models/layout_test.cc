// --fathom_layout: networks with convolutions compute the same in both layouts.
#include "models/layout.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <string>
#include <vector>

#include "benchmarks/tasks/model_task.h"
#include "fixtures/machine/device.h"
#include "models/step.h"

namespace fathom::models {
namespace {

constexpr auto kLast = at::MemoryFormat::ChannelsLast;

Step small(const WorkloadRow& row, Layout layout, Mode mode = Mode::kTrain) {
  fixtures::set_threads(1);
  return {row, {.mode = mode, .batch = 4, .seed = 1, .scale = Scale::kSmall, .layout = layout}};
}

class Layouts : public testing::TestWithParam<std::string> {
 protected:
  const WorkloadRow& row() const { return workload(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Table, Layouts, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& row : workloads()) {
                             if (row.dataset == "ImageNet" || row.dataset == "Atari")
                               names.emplace_back(row.name);
                           }
                           return names;
                         }()),
                         [](const auto& network) { return network.param; });

TEST_P(Layouts, GiveTheSameLossGradientsAndUpdateInFloat64) {
  std::vector<Step> steps;
  std::vector<double> losses;
  for (const auto layout : {Layout::kContiguous, Layout::kChannelsLast}) {
    auto& workload = steps.emplace_back(small(row(), layout)).workload();
    workload.module().to(at::kDouble);
    // The same batch for both: deepq computes a part of it in float32 with its network.
    fixtures::Batch batch = steps[0].batches()[0];
    for (auto& input : batch) {
      if (input.is_floating_point()) input = input.to(at::kDouble);
      if (input.dim() == 4 && layout == Layout::kChannelsLast) input = input.contiguous(kLast);
    }
    at::manual_seed(2);  // dropout
    const at::Tensor loss = workload.loss(batch);
    loss.backward();
    losses.push_back(loss.item<double>());
  }
  EXPECT_NEAR(losses[1], losses[0], 1e-10 * std::abs(losses[0]));
  const auto expected = steps[0].workload().module().named_parameters();
  for (const auto& parameter : steps[1].workload().module().named_parameters()) {
    if (!parameter->requires_grad()) continue;
    const at::Tensor exact = expected[parameter.key()].grad();
    EXPECT_LE((parameter->grad() - exact).norm().item<double>(),
              1e-9 * exact.norm().item<double>() + 1e-15)
        << parameter.key();
  }
  for (auto& step : steps) step.update();
  for (const auto& parameter : steps[1].workload().module().named_parameters()) {
    const at::Tensor exact = expected[parameter.key()].detach();
    EXPECT_LE((parameter->detach() - exact).norm().item<double>(),
              1e-6 * exact.norm().item<double>())
        << parameter.key() << " after the update";
  }
}

TEST_P(Layouts, StayInFiltersImagesAndGradients) {
  Step step = small(row(), Layout::kChannelsLast);
  EXPECT_TRUE(step.has_convolutions());
  EXPECT_TRUE(step.batches()[0][0].is_contiguous(kLast));
  EXPECT_FALSE(step.batches()[0][0].is_contiguous());
  for (int i = 0; i < 2; ++i) {
    step.forward();
    step.backward();
    int filters = 0;
    for (const auto& parameter : step.workload().module().parameters()) {
      if (parameter.dim() != 4 || parameter.size(2) == 1) continue;
      ++filters;
      EXPECT_TRUE(parameter.is_contiguous(kLast));
      EXPECT_FALSE(parameter.is_contiguous());
      if (parameter.requires_grad()) {
        EXPECT_TRUE(parameter.grad().is_contiguous(kLast));
      }
    }
    EXPECT_GT(filters, 0);
    step.update();
  }
}

TEST_P(Layouts, AreContiguousByDefault) {
  Step step(row(), {.batch = 2, .scale = Scale::kSmall});
  EXPECT_TRUE(step.batches()[0][0].is_contiguous());
  for (const auto& parameter : step.workload().module().parameters()) {
    EXPECT_TRUE(parameter.is_contiguous());
  }
}

std::string label(const char* name, Layout layout) {
  const StepOptions options{
      .mode = Mode::kInfer, .batch = 2, .scale = Scale::kSmall, .layout = layout};
  return benchmarks::make_model_task(workload(name), options)->counts().label;
}

TEST(LayoutLabels, NameChannelsLastOfConvolutionsOnly) {
  EXPECT_EQ(label("vgg", Layout::kChannelsLast), "channels_last");
  EXPECT_EQ(label("vgg", Layout::kContiguous), "");
  EXPECT_EQ(label("memnet", Layout::kChannelsLast), "");
}

TEST(LayoutLabels, OtherNetworksRunUnchanged) {
  Step step = small(workload("speech"), Layout::kChannelsLast);
  EXPECT_FALSE(step.has_convolutions());
  step.run();
  Step expected = small(workload("speech"), Layout::kContiguous);
  expected.run();
  EXPECT_EQ(step.result().item<float>(), expected.result().item<float>());
}

}  // namespace
}  // namespace fathom::models
