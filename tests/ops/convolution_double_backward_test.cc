#include "ops/kernels/convolution_double_backward.h"

#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <functional>
#include <string>
#include <vector>

#include "ops/core/fields.h"
#include "ops/profiler/flops.h"
#include "ops/profiler/record.h"
#include "tests/ops/gradients.h"
#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

using Convolve = std::function<at::Tensor(const at::Tensor& x, const at::Tensor& weight,
                                          const at::Tensor& bias, const ConvolutionOptions& o)>;

at::Tensor libtorch(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                    const ConvolutionOptions& o) {
  return at::conv2d(x, weight, bias, o.stride, o.padding, o.dilation, o.groups);
}

std::vector<at::Tensor> gradients_of(const at::Tensor& y, const std::vector<at::Tensor>& leaves,
                                     bool create_graph) {
  return torch::autograd::grad({y}, leaves, /*grad_outputs=*/{}, /*retain_graph=*/true,
                               create_graph, /*allow_unused=*/true);
}

struct Case {
  std::vector<int64_t> image;
  std::vector<int64_t> weight;
  ConvolutionOptions options;
};

const Case kCases[] = {
    {{2, 3, 5, 4}, {4, 3, 3, 3}, {.padding = {1, 1}}},
    {{2, 2, 4, 4}, {3, 2, 1, 1}, {}},
    {{1, 4, 7, 6}, {6, 2, 3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .groups = 2}},
    {{2, 2, 9, 8}, {2, 2, 3, 2}, {.stride = {2, 3}, .padding = {2, 2}, .dilation = {2, 3}}},
    {{1, 3, 5, 5}, {3, 1, 3, 3}, {.padding = {1, 1}, .groups = 3}},  // a channel each
    {{1, 2, 6, 6}, {2, 2, 3, 3}, {.stride = {2, 2}}}};               // a pixel that no tap reads

class ConvolutionDoubleBackward : public testing::TestWithParam<Case> {
 protected:
  ConvolutionDoubleBackward() { at::manual_seed(1); }

  const at::Tensor x = at::randn(GetParam().image, at::kDouble);
  const at::Tensor weight = at::randn(GetParam().weight, at::kDouble);
  const at::Tensor bias = at::randn({GetParam().weight[0]}, at::kDouble);
  const at::Tensor scale = at::randn_like(libtorch(x, weight, bias, GetParam().options));
  const std::vector<at::Tensor> leaves{x, weight, bias};
  const std::vector<at::Tensor> factors{at::randn_like(x), at::randn_like(weight),
                                        at::randn_like(bias)};

  /// A weighed sum of the gradients of a loss. Bit i of `of` chooses leaf i. The loss is quadratic
  /// in the convolution's output, so that the gradient of the output depends on every leaf.
  at::Tensor sum_of_gradients(const Convolve& convolve, int of, bool with_bias,
                              bool create_graph) const {
    const c10::AutoGradMode on(true);
    const at::Tensor y = convolve(x, weight, with_bias ? bias : at::Tensor(), GetParam().options);
    std::vector<at::Tensor> chosen;
    at::Tensor sum = at::zeros({}, at::kDouble);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if ((of >> i & 1) != 0) chosen.push_back(leaves[i]);
    }
    const auto found = gradients_of((y.square() * scale).sum(), chosen, create_graph);
    for (std::size_t i = 0, next = 0; i < leaves.size(); ++i) {
      if ((of >> i & 1) != 0) sum = sum + (found[next++] * factors[i]).sum();
    }
    return sum;
  }
};

INSTANTIATE_TEST_SUITE_P(Cases, ConvolutionDoubleBackward, testing::ValuesIn(kCases));

TEST_P(ConvolutionDoubleBackward, IsThatOfCentralDifferences) {
  for (const auto& leaf : leaves) leaf.requires_grad_();
  tests::expect_gradients(
      {{"x", x}, {"weight", weight}, {"bias", bias}},
      [&] { return sum_of_gradients(twice_differentiable_conv2d, 7, true, true); },
      [&] { return sum_of_gradients(libtorch, 7, true, false).item<double>(); }, 100);
}

TEST_P(ConvolutionDoubleBackward, IsLibTorchsForAnyInputsThatRequireGradients) {
  for (const bool with_bias : {false, true}) {
    for (int required = 1; required < (with_bias ? 8 : 4); ++required) {
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        leaves[i].requires_grad_((required >> i & 1) != 0);
      }
      for (int of = 1; of <= required; ++of) {
        if ((of & ~required) != 0) continue;
        const auto second = [&](const Convolve& convolve) {
          std::vector<at::Tensor> inputs;
          for (const auto& leaf : leaves) {
            if (leaf.requires_grad()) inputs.push_back(leaf);
          }
          if (!with_bias && inputs.back().is_same(bias)) inputs.pop_back();
          const at::Tensor sum = sum_of_gradients(convolve, of, with_bias, true);
          auto found = gradients_of(sum, inputs, false);
          for (std::size_t i = 0; i < found.size(); ++i) {
            if (!found[i].defined()) found[i] = at::zeros_like(inputs[i]);
          }
          return found;
        };
        const auto ours = second(twice_differentiable_conv2d);
        const auto expected = second(libtorch);
        ASSERT_EQ(ours.size(), expected.size());
        for (std::size_t i = 0; i < ours.size(); ++i) {
          EXPECT_TRUE(ours[i].allclose(expected[i], 1e-10, 1e-10))
              << "required " << required << ", gradients of " << of << ", input " << i;
        }
      }
    }
  }
}

TEST_P(ConvolutionDoubleBackward, LeavesTheOutputAndItsGradientsAsTheyAre) {
  for (const auto& leaf : leaves) leaf.requires_grad_();
  const auto all = [&](const Convolve& convolve) {
    const at::Tensor y = convolve(x, weight, bias, GetParam().options);
    auto found = gradients_of((y.square() * scale).sum(), leaves, false);
    found.push_back(y);
    return found;
  };
  const auto ours = all(twice_differentiable_conv2d);
  const auto expected = all(libtorch);
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_TRUE(ours[i].equal(expected[i])) << i;
}

// ---- a gradient penalty

/// Two convolutions, each followed by a nonlinearity.
class GradientPenalty : public testing::Test {
 protected:
  GradientPenalty() { at::manual_seed(1); }

  /// {gradients of the weights, penalty}.
  std::vector<at::Tensor> run(const Convolve& convolve) const {
    const ConvolutionOptions options{.padding = {1, 1}};
    const at::Tensor hidden = convolve(x, first, bias, options).tanh();
    const at::Tensor y = convolve(hidden, second, bias, options).tanh();
    const at::Tensor gradient = gradients_of(y.sum(), {x}, true)[0];
    const at::Tensor penalty = (gradient.flatten(1).norm(2, 1) - 1).square().mean();
    auto found = gradients_of(penalty, {first, second}, false);
    found.push_back(penalty.detach());
    return found;
  }

  const at::Tensor x = at::randn({2, 4, 6, 6}).requires_grad_();
  const at::Tensor first = at::randn({4, 4, 3, 3}).mul_(0.2).requires_grad_();
  const at::Tensor second = at::randn({4, 4, 3, 3}).mul_(0.2).requires_grad_();
  const at::Tensor bias = at::randn({4}).requires_grad_();
};

TEST_F(GradientPenalty, HasLibTorchsGradients) {
  const auto ours = run(twice_differentiable_conv2d);
  const auto expected = run(libtorch);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_TRUE(ours[i].allclose(expected[i], 1e-4, 1e-4)) << i;
  }
}

TEST_F(GradientPenalty, RunsInTheTypeOfAutocast) {
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const at::Tensor y = twice_differentiable_conv2d(x, first, bias, {.padding = {1, 1}});
  const auto ours = run(twice_differentiable_conv2d);
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  const auto expected = run(libtorch);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i].scalar_type(), at::kFloat);
    const double off = ((ours[i] - expected[i]).norm() / expected[i].norm()).item<double>();
    EXPECT_LT(off, 0.05) << i;
  }
}

TEST_F(GradientPenalty, RefusesThirdDerivatives) {
  const at::Tensor y = twice_differentiable_conv2d(x, first, bias, {}).square().sum();
  const at::Tensor second_sum = gradients_of(y, {first}, true)[0].square().sum();
  try {
    gradients_of(second_sum, {first}, true);
    FAIL() << "accepted";
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("third derivatives"), std::string::npos);
  }
}

TEST_F(GradientPenalty, IsRecordedAsTwoRowsWithEitherImplementation) {
  for (const auto& convolve : {Convolve(libtorch), Convolve(twice_differentiable_conv2d)}) {
    const auto rows =
        record([&] { run(convolve); }, {{"first.weight", first}, {"second.weight", second}});
    int64_t count = 0;
    for (const auto& row : rows) {
      if (row.type->name != "conv2d") continue;
      EXPECT_EQ(json_text(row.op.fields),
                std::string(R"({"n":2,"c":4,"k":4,"image":[6,6],"kernel":[3,3],"padding":[1,1])") +
                    (row.op.pass == kForward ? R"(,"bias":true})" : "}"));
      if (row.op.pass == Pass::kDoubleBackward) count += row.count;
      EXPECT_FALSE(row.op.pass == Pass::kDoubleBackward && row.layer == "input");
    }
    EXPECT_EQ(count, 2);
  }
}

TEST(ConvolutionDoubleBackwardFlops, AreThoseOfTheRow) {
  for (const auto fields : op_type("conv2d")->examples) {
    const auto op = make_op("conv2d", Pass::kDoubleBackward, fields);
    const Tensors in = op->inputs(1);
    const double expected = op->cost(fixtures::Precision::kFp32).flops;
    EXPECT_EQ(count_flops([&] { op->call(in)(); }).flops, expected) << fields;
    EXPECT_EQ(count_flops([&] { op->native(in)(); }).flops, expected) << fields;
  }
}

}  // namespace
}  // namespace fathom::ops
