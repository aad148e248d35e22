#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/core/check.h"
#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

/// Σ outputs · gradients over the floating-point outputs of the differentiated pass.
double weighed(const Op& forward, Tensors inputs, const Tensors& gradients, bool scores) {
  // The gradient of ctc_loss is that of the scores before the softmax.
  if (scores) inputs[0] = at::log_softmax(inputs[0], 2);
  const Tensors outputs = forward.call(inputs)();
  double sum = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    sum += (outputs[i] * gradients[i]).sum().item<double>();
  }
  return sum;
}

/// Whether the gradient takes {g, operands}, as those of LibTorch's element-wise ops.
bool takes_gradient_first(std::string_view type) {
  return op_type(type)->op_class == OpClass::kElementwise && type != "swiglu" && type != "rotary";
}

std::vector<Case> gradients() {
  auto cases = op_cases();
  std::erase_if(cases, [](const Case& one) {
    const std::string_view type = one.type;  // matmul's are products, dropout draws anew
    return one.pass == kForward || one.pass == kUpdate || type == "matmul" || type == "dropout";
  });
  return cases;
}

class OpGradient : public testing::TestWithParam<Case> {};

TEST_P(OpGradient, IsThatOfCentralDifferences) {
  constexpr double kStep = 1e-5;
  const auto& one = GetParam();
  const std::string_view type = one.type;
  const bool again = one.pass == Pass::kDoubleBackward;
  const auto forward = make_op(type, again ? Pass::kDgrad : kForward, one.fields);
  const auto backward = make_op(one);
  Tensors inputs = converted(forward->inputs(7), at::kDouble, at::kCPU);
  Tensors given = converted(backward->inputs(7), at::kDouble, at::kCPU);

  // By default the inputs are those of forward and a gradient for each floating-point output.
  std::vector<std::size_t> leaves;
  Tensors gradients;
  if (type == "clipped_relu_rnn") {  // {h, recurrent, g}
    leaves = {0, 1};
    gradients = {given[2]};
    given[0] = forward->call(inputs)()[0];
    given[1] = inputs[1];
  } else if (again) {  // {x, weight, g, ddx}
    leaves = {2, 1};
    gradients = {given[3]};
    std::copy(inputs.begin(), inputs.end(), given.begin());
  } else if (type == "conv2d") {  // {x, weight, g}
    gradients = {given[2]};
    const bool bias = inputs.size() == 3;
    if (one.pass == Pass::kDgrad) leaves = {0};
    if (one.pass == Pass::kWgrad) leaves = bias ? std::vector<std::size_t>{1, 2} : std::vector{1UL};
    given = {inputs[0], inputs[1], given[2]};
  } else if (takes_gradient_first(type)) {  // {g, operands}
    leaves = {0};
    gradients = {given[0]};
    std::copy(inputs.begin(), inputs.end(), given.begin() + 1);
  } else {
    gradients = Tensors(given.begin() + static_cast<std::ptrdiff_t>(inputs.size()), given.end());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      given[i] = inputs[i];
      const bool constant = (type == "sampled_softmax" && i == 5) ||               // tries
                            (type == "scaled_dot_product_attention" && i == 3) ||  // mask
                            (type == "additive_attention" && i == 4) ||            // mask
                            (type == "roi_align" && i == 1) ||                     // regions
                            (type == "rotary" && i > 1) ||                         // angles
                            (type == "batch_norm" && i > 2);  // mean and variance
      if (inputs[i].is_floating_point() && !constant) leaves.push_back(i);
    }
  }
  Tensors found = backward->call(given)();
  if (one.has("sparse")) {
    at::Tensor dense = at::zeros_like(inputs[0]);
    dense.index_add_(0, found[0].view(-1), found[1]);
    found = {dense};
  }
  ASSERT_EQ(found.size(), leaves.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    at::Tensor& leaf = inputs[leaves[i]];
    ASSERT_EQ(found[i].sizes(), leaf.sizes());
    const at::Tensor slopes = found[i].contiguous();
    const at::Tensor kept = leaf.clone();
    for (int64_t k = 0; k < leaf.numel(); ++k) {
      const auto at = [&](double step) {
        leaf = kept.clone();
        leaf.mutable_data_ptr<double>()[k] += step;
        return weighed(*forward, inputs, gradients, type == "ctc_loss");
      };
      const double expected = (at(kStep) - at(-kStep)) / (2 * kStep);
      EXPECT_NEAR(slopes.const_data_ptr<double>()[k], expected, 1e-5 * (1 + std::abs(expected)))
          << "leaf " << leaves[i] << " element " << k;
    }
    leaf = kept;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, OpGradient, testing::ValuesIn(gradients()),
                         [](const auto& one) { return case_name(one.param); });

}  // namespace
}  // namespace fathom::ops
