// Training in fp16.
#include "models/loss_scale.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <limits>

#include "models/step.h"
#include "models/table.h"

namespace fathom::models {
namespace {

/// A parameter with a gradient.
at::Tensor parameter(double gradient) {
  at::Tensor made = at::ones(3).requires_grad_();
  made.mutable_grad() = at::full({3}, gradient);
  return made;
}

TEST(LossScale, DividesGradients) {
  LossScale scale(at::kCPU);
  EXPECT_EQ(scale.factor().item<float>(), 65536);
  const at::Tensor dense = parameter(65536 * 3);
  const at::Tensor without = at::ones(3).requires_grad_();
  EXPECT_TRUE(scale.unscale({dense, without}));
  EXPECT_TRUE(at::equal(dense.grad(), at::full({3}, 3.0)));
  EXPECT_EQ(scale.factor().item<float>(), 65536);
}

TEST(LossScale, HalvesAfterAnOverflow) {
  LossScale scale(at::kCPU);
  const at::Tensor other = parameter(1);
  EXPECT_FALSE(scale.unscale({other, parameter(std::numeric_limits<double>::infinity())}));
  EXPECT_FALSE(other.grad().defined());
  EXPECT_EQ(scale.factor().item<float>(), 32768);
  EXPECT_TRUE(scale.unscale({parameter(1)}));
  EXPECT_EQ(scale.factor().item<float>(), 32768);
}

TEST(LossScale, DoublesAfterTwoThousandUpdates) {
  LossScale scale(at::kCPU);
  for (int i = 0; i < 2000; ++i) scale.unscale({parameter(1)});
  EXPECT_EQ(scale.factor().item<float>(), 131072);
}

// The first updates overflow and are left out.
TEST(Fp16, TrainingLearns) {
  Step step(workload("autoenc"),
            {.precision = fixtures::Precision::kFp16, .batch = 8, .scale = Scale::kSmall});
  const auto loss_of_batches = [&] {
    double sum = 0;
    for (int i = 0; i < kBatches; ++i) {
      step.run();
      sum += step.result().item<double>();
    }
    return sum;
  };
  const double first = loss_of_batches();
  for (int i = 0; i < 20; ++i) loss_of_batches();
  EXPECT_LT(loss_of_batches(), 0.5 * first);
}

}  // namespace
}  // namespace fathom::models
