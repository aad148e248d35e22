#include "ops/profiler/shape_profile.h"

#include <ATen/ops/ctc_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fixtures/machine/device.h"
#include "ops/kernels/recurrent/lstm_cell.h"
#include "ops/types/shapes.h"
#include "ops/types/table.h"
#include "tests/ops/gpu/fake_gpu.h"

namespace fathom::ops {
namespace {

class ShapeProfileTest : public testing::Test {
 protected:
  ShapeProfileTest() { fixtures::set_threads(1); }

  const at::Tensor square = at::ones({64, 64});
};

/// The time of a shape; a count of 0 if it is not in the profile.
ShapeTime shape_of(const ShapeProfile& profile, const std::vector<std::string>& keys) {
  const auto found = std::find_if(profile.shapes.begin(), profile.shapes.end(),
                                  [&](const ShapeTime& shape) { return shape.keys == keys; });
  return found == profile.shapes.end() ? ShapeTime{} : *found;
}

TEST_F(ShapeProfileTest, TellsShapesApart) {
  const at::Tensor wide = at::ones({64, 8});
  const ShapeProfile found = shape_profile(
      [&] {
        at::linear(square, square);  // transposes one
        at::mm(square, square);
        at::mm(square, square);
        at::mm(square, wide);
        square.view({32, 128});
      },
      8);
  EXPECT_EQ(found.steps, 4) << "the middle half";
  const auto product = [&](int64_t n) {
    const FieldRow fields{{"m", int64_t{64}}, {"n", n}, {"k", int64_t{64}}};
    return shape_of(found, {shape_key(*op_type("matmul"), {Pass::kForward, fields})});
  };
  EXPECT_EQ(product(64).count, 4 * 2);
  EXPECT_EQ(product(8).count, 4);
  EXPECT_EQ(product(8).op_class, OpClass::kMatrix);
  double sum = 0;
  for (const auto& shape : found.shapes) {
    EXPECT_GE(shape.seconds, 0) << shape.type;
    sum += shape.seconds;
  }
  EXPECT_NEAR(sum, found.seconds, 1e-9);
  EXPECT_EQ(found.shapes.back().type, "framework");
}

TEST_F(ShapeProfileTest, GivesTheGradientOfAScopeItsShape) {
  const at::Tensor weight = at::randn({8, 7}).requires_grad_();
  const at::Tensor bias = at::randn({8}).requires_grad_();
  const ShapeProfile found = shape_profile(
      [&] {
        LstmState state{.h = at::randn({3, 2}), .c = at::randn({3, 2})};
        for (int i = 0; i < 4; ++i) state = lstm_cell(at::randn({3, 5}), state, weight, bias);
        state.h.sum().backward();
        for (const auto& leaf : {weight, bias}) leaf.mutable_grad().reset();
      },
      1);
  int64_t forward = 0;
  int64_t backward = 0;
  for (const auto& shape : found.shapes) {
    if (shape.keys.empty() || shape.type != "lstm_cell") continue;
    EXPECT_GT(shape.seconds, 0) << shape.keys[0];
    (shape.keys[0].starts_with("lstm_cell/backward/") ? backward : forward) += shape.count;
  }
  EXPECT_EQ(forward, 4);
  EXPECT_EQ(backward, 4);
}

TEST_F(ShapeProfileTest, GivesShapesTheGpuTimeOfWhatTheyLaunch) {
  FakeGpu gpu;
  const at::Tensor x = at::ones({3, 5});
  const at::Tensor h = at::ones({3, 2});
  const auto step = [&] {
    {
      RECORD_USER_SCOPE_WITH_INPUTS("op:lstm_cell", (std::vector<c10::IValue>{x, h}));
      gpu.launch(3'000);
      at::mm(square, square);
      gpu.launch(4'000);
    }
    gpu.launch(2'000);  // outside any op
    square.view({32, 128});
  };
  const ShapeProfile found = gpu_shape_profile(step, 8, gpu.profiler()).value();
  EXPECT_EQ(found.steps, 4) << "the middle half";
  const FieldRow fields{{"n", int64_t{3}}, {"inputs", int64_t{5}}, {"width", int64_t{2}}};
  const ShapeTime cell =
      shape_of(found, {shape_key(*op_type("lstm_cell"), {Pass::kForward, fields})});
  EXPECT_EQ(cell.count, 4);
  EXPECT_NEAR(cell.seconds, 4 * 7e-6, 1e-12);
  EXPECT_EQ(found.shapes.back().type, "framework");
  EXPECT_NEAR(found.shapes.back().seconds, 4 * 2e-6, 1e-12) << "not the time in which it is idle";
  EXPECT_NEAR(found.seconds, 4 * 9e-6, 1e-12);
}

TEST_F(ShapeProfileTest, IsUnknownWhereTheProfilerRecordsNothingOnTheGpu) {
  EXPECT_FALSE(gpu_shape_profile([&] { square.tanh(); }, 8, FakeGpu().profiler()));
}

TEST_F(ShapeProfileTest, LeavesOutItsOwnOps) {
  const at::Tensor scores = at::randn({9, 2, 4}).log_softmax(2);
  const at::Tensor frames = at::full({2}, 9, at::kLong);
  const at::Tensor counts = at::full({2}, 3, at::kLong);  // the largest is part of the key
  const at::Tensor labels = at::ones({2, 3}, at::kLong);
  const ShapeProfile found =
      shape_profile([&] { at::ctc_loss(scores, labels, frames, counts); }, 1);
  EXPECT_EQ(found.steps, 1);
  const FieldRow fields{
      {"frames", int64_t{9}}, {"n", int64_t{2}}, {"classes", int64_t{4}}, {"labels", int64_t{3}}};
  EXPECT_EQ(shape_of(found, {shape_key(*op_type("ctc_loss"), {Pass::kForward, fields})}).count, 1);
}

TEST_F(ShapeProfileTest, LeavesOutStepsThatRunOtherOps) {
  int step = 0;
  const auto other = [&] { ++step % 2 == 0 ? square.exp() : square.tanh(); };
  EXPECT_EQ(shape_profile(other, 6).steps, 3);
  int last = 0;
  EXPECT_EQ(shape_profile([&] { ++last == 1 ? square.exp() : square.tanh(); }, 3).steps, 0);
}

}  // namespace
}  // namespace fathom::ops
