#include "ops/kernels/memory_network.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>
#include <torch/utils.h>

#include <functional>
#include <vector>

#include "ops/kernels/fused_composites.h"

namespace fathom::ops {
namespace {

using Tensors = std::vector<at::Tensor>;
using Function = std::function<at::Tensor(const Tensors& in)>;

/// The result, the name of its gradient and the inputs' gradients.
struct Found {
  at::Tensor y;
  std::string gradient;
  Tensors gradients;
};

Found found(const Function& function, const Tensors& values, bool fused) {
  fused_composites() = fused;
  Tensors in;
  for (const auto& value : values) in.push_back(value.clone().requires_grad_());
  const at::Tensor y = function(in);
  fused_composites() = false;
  torch::manual_seed(11);
  y.backward(at::randn(y.sizes()));
  Tensors gradients;
  for (const auto& each : in) gradients.push_back(each.grad());
  return {y.detach(), y.grad_fn()->name(), gradients};
}

void expect_the_same(const Function& function, const Tensors& values) {
  const Found composed = found(function, values, false);
  const Found fused = found(function, values, true);
  EXPECT_NE(composed.gradient, fused.gradient) << "the fused kernel has its own gradient";
  EXPECT_TRUE(at::allclose(composed.y, fused.y, 1e-5, 1e-6));
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_TRUE(at::allclose(composed.gradients[i], fused.gradients[i], 1e-4, 1e-5)) << i;
}

class MemoryNetwork : public testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(5); }
};

TEST_F(MemoryNetwork, EncodesWordsLikeTheComposite) {
  const at::Tensor words = at::randint(7, {40, 13, 5}, at::kLong);
  const at::Tensor weights = at::rand({5, 20});
  expect_the_same([&](const Tensors& in) { return encoded_words(in[0], words, weights); },
                  {at::randn({7, 20})});
}

TEST_F(MemoryNetwork, EncodesNoWords) {
  const at::Tensor words = at::randint(7, {0, 5}, at::kLong);
  fused_composites() = true;
  const at::Tensor y = encoded_words(at::randn({7, 4}), words, at::rand({5, 4}));
  fused_composites() = false;
  EXPECT_EQ(y.sizes(), (std::vector<int64_t>{0, 4}));
}

TEST_F(MemoryNetwork, RefusesAWordOutsideTheTable) {
  const at::Tensor words = at::randint(7, 8, {2, 5}, at::kLong);
  fused_composites() = true;
  EXPECT_THROW(encoded_words(at::randn({7, 4}), words, at::rand({5, 4})), c10::Error);
  fused_composites() = false;
}

TEST_F(MemoryNetwork, ReadsLikeTheComposite) {
  expect_the_same(
      [](const Tensors& in) { return memory_read(in[0], in[1], in[1].transpose(1, 2)); },
      {at::randn({300, 20}), at::randn({300, 11, 20})});
}

TEST_F(MemoryNetwork, ReadsLargeScores) {
  expect_the_same(
      [](const Tensors& in) { return memory_read(in[0], in[1], in[1].transpose(1, 2)); },
      {at::randn({3, 4}) * 50, at::randn({3, 2, 4}) * 50});
}

}  // namespace
}  // namespace fathom::ops
