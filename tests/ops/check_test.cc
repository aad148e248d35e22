#include "ops/core/check.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>

#include "fixtures/machine/device.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;

constexpr int64_t kMany = 100'000;  // enough for several threads

std::string complaint(const Tensors& found, const Tensors& expected,
                      Precision precision = Precision::kFp32, double tolerance_factor = 1) {
  try {
    expect_close(found, expected, precision, tolerance_factor);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

/// Ones, except for one element near the end.
at::Tensor ones_but(double value) {
  at::Tensor made = at::ones({10, kMany / 10});
  made[9][kMany / 10 - 2] = value;
  return made;
}

const Tensors kOnes{at::ones({10, kMany / 10}, at::kDouble)};

class ExpectClose : public testing::Test {
 protected:
  ExpectClose() { fixtures::set_threads(2); }
};

TEST_F(ExpectClose, AllowsRounding) {
  EXPECT_EQ(complaint({ones_but(1 + 9e-5)}, kOnes), "");
  EXPECT_EQ(complaint({ones_but(1 + 2e-2)}, kOnes, Precision::kBf16), "");
  EXPECT_EQ(complaint({ones_but(1 + 9e-4)}, kOnes, Precision::kFp32, 10), "");
}

TEST_F(ExpectClose, FindsOneWrongElement) {
  EXPECT_EQ(complaint({ones_but(1.25)}, kOnes),
            "output 0 differs from the float64 reference by 0.25, expected at most 0.0001");
  EXPECT_EQ(complaint({kOnes[0], ones_but(1.25)}, {kOnes[0], kOnes[0]}),
            "output 1 differs from the float64 reference by 0.25, expected at most 0.0001");
}

TEST_F(ExpectClose, NamesTheWorst) {
  at::Tensor found = ones_but(1.25);
  found[0][3] = 1.5;
  EXPECT_NE(complaint({found}, kOnes).find("by 0.5, "), std::string::npos);
  found[5][0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(complaint({found}, kOnes).find("by nan, "), std::string::npos);
}

TEST_F(ExpectClose, FindsNan) {
  EXPECT_NE(complaint({ones_but(std::numeric_limits<double>::quiet_NaN())}, kOnes).find("by nan"),
            std::string::npos);
}

TEST_F(ExpectClose, TakesSmallElementsByTheRootMeanSquare) {
  const Tensors expected{at::arange(kMany, at::kDouble)};
  EXPECT_EQ(complaint({expected[0] + 1}, expected), "") << "1e-4 of 57,735 is 5.8";
  EXPECT_NE(complaint({expected[0] + 11}, expected), "") << "1e-4 of the largest is 10";
}

TEST_F(ExpectClose, FindsAnotherShape) {
  EXPECT_EQ(complaint({at::ones({2, 3})}, {at::ones({3, 2})}),
            "output 0 has shape [2, 3], expected [3, 2]");
}

TEST_F(ExpectClose, ReadsAnyLayout) {
  const at::Tensor expected = at::arange(24, at::kDouble).view({1, 2, 3, 4});
  EXPECT_EQ(complaint({expected.contiguous(at::MemoryFormat::ChannelsLast)}, {expected}), "");
  EXPECT_EQ(complaint({at::ones({0, 3})}, {at::ones({0, 3})}), "");
}

}  // namespace
}  // namespace fathom::ops
