#include "ops/profiler/operator_times.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace fathom::ops {
namespace {

const OperatorTime* find(const std::vector<OperatorTime>& all, const std::string& name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

/// linear with a bias calls addmm, without one mm.
TEST(OperatorTimes, NameWhatCompositesCall) {
  const at::Tensor square = at::ones({256, 256});
  const at::Tensor bias = at::ones({256});
  const auto all = operator_times([&] {
    at::linear(square, square, bias);
    at::linear(square, square);
    at::mm(square, square);
  });
  ASSERT_NE(find(all, "linear"), nullptr);
  EXPECT_EQ(find(all, "linear")->count, 2);
  ASSERT_NE(find(all, "addmm"), nullptr);
  EXPECT_EQ(find(all, "addmm")->count, 1);
  const auto products = std::count_if(all.begin(), all.end(), [](const OperatorTime& one) {
    return one.name == "mm" || one.name == "matmul";
  });
  EXPECT_GE(products, 1);
  EXPECT_LT(find(all, "linear")->seconds, find(all, "addmm")->seconds + find(all, "mm")->seconds)
      << "without the operators inside";
}

TEST(OperatorTimes, TellOverloadsApartAndSeeTheBackwardPass) {
  const at::Tensor weight = at::ones({64, 64}).requires_grad_();
  const auto all = operator_times([&] {
    at::mm(weight, weight).add(1).sum().backward();
    weight.mutable_grad().reset();
  });
  EXPECT_NE(find(all, "add.Scalar"), nullptr);
  EXPECT_EQ(find(all, "mm")->count, 3);
}

TEST(OperatorTimes, AreSortedByTime) {
  const at::Tensor square = at::ones({128, 128});
  const auto all = operator_times([&] { at::mm(square, square).add_(1); });
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const auto& a, const auto& b) { return a.seconds > b.seconds; }));
}

}  // namespace
}  // namespace fathom::ops
