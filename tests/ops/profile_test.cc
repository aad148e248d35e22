#include "ops/profiler/profile.h"

#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/record_function.h>
#include <c10/util/ApproximateClock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "fixtures/machine/device.h"
#include "ops/kernels/lstm_cell.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

class ProfileTest : public testing::Test {
 protected:
  ProfileTest() { fixtures::set_threads(1); }

  /// The time of a type; a count of 0 if it is not in the profile.
  static OpTime time_of(const Profile& profile, const std::string& type) {
    const auto found = std::find_if(profile.ops.begin(), profile.ops.end(),
                                    [&](const OpTime& op) { return op.type == type; });
    return found == profile.ops.end() ? OpTime{} : *found;
  }

  const at::Tensor square = at::ones({64, 64});
};

TEST_F(ProfileTest, CountsEachOpOnceUnderItsType) {
  const Profile found = profile([&] {
    for (int i = 0; i < 5; ++i) at::linear(square, square, at::ones({64}));  // runs an addmm
  });
  const OpTime matmul = time_of(found, "matmul");
  EXPECT_EQ(matmul.count, 5);
  EXPECT_EQ(matmul.op_class, OpClass::kMatrix);
  EXPECT_GT(matmul.seconds, 0);
}

TEST_F(ProfileTest, FillsTheWholeTimeAndNoMore) {
  const Profile found = profile([&] {
    for (int i = 0; i < 20; ++i) at::mm(square, square).add_(1).relu_();
  });
  double sum = 0;
  for (const auto& op : found.ops) {
    EXPECT_GE(op.seconds, 0) << op.type;
    sum += op.seconds;
  }
  EXPECT_NEAR(sum, found.seconds, 1e-9);
  EXPECT_EQ(time_of(found, "framework").op_class, OpClass::kFramework);
  EXPECT_TRUE(std::is_sorted(found.ops.begin(), found.ops.end(),
                             [](const auto& a, const auto& b) { return a.seconds > b.seconds; }));
}

TEST_F(ProfileTest, KeepsLibTorchsNameOfWhatNoKindClaims) {
  const Profile found = profile([&] { square.view({32, 128}).cumsum(0); });
  EXPECT_EQ(time_of(found, "cumsum").count, 1);
  EXPECT_EQ(time_of(found, "view").count, 1);
}

TEST_F(ProfileTest, KeepsTheNameOfAScopeThatNoKindClaims) {
  const Profile found = profile([&] {
    RECORD_USER_SCOPE("op:mine");
    at::mm(square, square);
  });
  EXPECT_EQ(time_of(found, "mine").count, 1);
  EXPECT_EQ(time_of(found, "matmul").count, 0) << "counted at two levels";
}

TEST_F(ProfileTest, GivesAScopeItsGradientsToo) {
  const at::Tensor x = at::randn({3, 5}).requires_grad_();
  const at::Tensor weight = at::randn({8, 7}).requires_grad_();
  const at::Tensor bias = at::randn({8}).requires_grad_();
  const LstmState state{.h = at::randn({3, 2}), .c = at::randn({3, 2})};
  const Profile forward = profile([&] { lstm_cell(x, state, weight, bias); });
  EXPECT_EQ(time_of(forward, "lstm_cell").count, 1);
  EXPECT_EQ(time_of(forward, "matmul").count, 0) << "counted at two levels";
  const Profile both = profile([&] { lstm_cell(x, state, weight, bias).h.sum().backward(); });
  EXPECT_EQ(time_of(both, "lstm_cell").count, 2);
  EXPECT_EQ(time_of(both, "matmul").count, 0);
}

TEST_F(ProfileTest, TellsTheGradientsOfTwoScopesApart) {
  const at::Tensor weight = at::randn({8, 7}).requires_grad_();
  const at::Tensor bias = at::randn({8}).requires_grad_();
  const Profile found = profile([&] {
    LstmState state{.h = at::randn({3, 2}), .c = at::randn({3, 2})};
    for (int i = 0; i < 4; ++i) state = lstm_cell(at::randn({3, 5}), state, weight, bias);
    state.h.sum().backward();
  });
  EXPECT_EQ(time_of(found, "lstm_cell").count, 4 + 4);
}

TEST_F(ProfileTest, EndsWithItsWork) {
  EXPECT_THROW(profile([] { throw std::runtime_error("stop"); }), std::runtime_error);
  at::mm(square, square);  // not profiled
  EXPECT_EQ(time_of(profile([] {}), "matmul").count, 0);
}

/// A fake GPU that is busy for `nanoseconds` after each launch.
class FakeGpu {
 public:
  void launch(int64_t nanoseconds) {
    const int64_t now = c10::getTime();
    const int64_t begin = std::max(free_at_, now);
    free_at_ = begin + nanoseconds;
    events_.push_back({.launched = now, .begin = begin, .end = free_at_});
  }
  void overlap_the_last() { events_.push_back(events_.back()); }

  Profile profile(const std::function<void()>& work) {
    return gpu_profile(work, [&](const std::function<void()>& profiled) {
      profiled();
      return events_;
    });
  }

 private:
  int64_t free_at_ = 0;
  std::vector<GpuEvent> events_;
};

TEST_F(ProfileTest, AttributesGpuTimeToTheOpThatLaunchedIt) {
  FakeGpu gpu;
  const Profile found = gpu.profile([&] {
    {
      RECORD_USER_SCOPE("op:lstm_cell");
      gpu.launch(3'000);
      at::mm(square, square);
      gpu.launch(4'000);
      gpu.overlap_the_last();
    }
    gpu.launch(50'000);  // outside any op
    RECORD_USER_SCOPE("op:adam");
    gpu.launch(500);
  });
  EXPECT_NEAR(time_of(found, "lstm_cell").seconds, 7e-6, 1e-12);
  EXPECT_NEAR(time_of(found, "adam").seconds, 0.5e-6, 1e-12);
  EXPECT_EQ(time_of(found, "lstm_cell").count, 1);
  EXPECT_EQ(time_of(found, "matmul").count, 0);
  EXPECT_NEAR(time_of(found, "framework").seconds, found.seconds - 7.5e-6, 1e-12);
  EXPECT_NEAR(found.gpu_seconds.value(), 57.5e-6, 1e-12);
}

TEST_F(ProfileTest, CountsTheSameCallsOnBothDevices) {
  const auto work = [&] {
    const at::Tensor x = at::randn({3, 5}).requires_grad_();
    at::mm(x, at::ones({5, 2})).relu().sum().backward();
  };
  const Profile host = profile(work);
  const Profile device = FakeGpu().profile(work);
  ASSERT_EQ(host.ops.size(), device.ops.size());
  for (const auto& op : host.ops) EXPECT_EQ(time_of(device, op.type).count, op.count) << op.type;
}

TEST_F(ProfileTest, SumsProfilesByType) {
  const OpTime mm{.type = "matmul", .op_class = OpClass::kMatrix, .count = 2, .seconds = 3};
  const OpTime relu{.type = "relu", .op_class = OpClass::kElementwise, .count = 1, .seconds = 4};
  const Profile all = sum({{.ops = {mm}, .seconds = 3}, {.ops = {relu, mm}, .seconds = 7}});
  EXPECT_EQ(all.seconds, 10);
  ASSERT_EQ(all.ops.size(), 2U);
  EXPECT_EQ(all.ops[0].type, "matmul");  // 6 seconds
  EXPECT_EQ(all.ops[0].count, 4);
  EXPECT_EQ(all.ops[1].seconds, 4);
}

TEST_F(ProfileTest, SeesNoGpuWhereNothingRunsOnOne) {
  int runs = 0;
  EXPECT_TRUE(gpu_events([&] {
                at::mm(square, square);
                ++runs;
              }).empty());
  EXPECT_EQ(runs, 1);
  EXPECT_THROW(gpu_events([] { throw std::runtime_error("stop"); }), std::runtime_error);
  EXPECT_TRUE(gpu_events([] {}).empty());  // the failed profile has ended
}

TEST_F(ProfileTest, AddsUpToTheStepOnCuda) {
  const std::string why = fixtures::unavailable_reason(fixtures::Device::kCuda);
  if (!why.empty()) GTEST_SKIP() << why;
  const at::Tensor x = at::randn({1024, 1024}, at::kCUDA).requires_grad_();
  const auto work = [&] {
    at::mm(x, x).relu().sum().backward();
    fixtures::synchronize(fixtures::Device::kCuda);
  };
  work();
  const Profile found = gpu_profile(work);
  EXPECT_EQ(time_of(found, "matmul").count, 3);
  EXPECT_GT(time_of(found, "matmul").seconds, 0);
  EXPECT_GE(time_of(found, "framework").seconds, 0);
}

TEST(OpTypes, ClaimEachNameOnce) {
  std::set<std::string_view> names;
  std::set<std::string_view> aten;
  for (const auto& type : op_types()) {
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
    for (const auto& list : {type.aten, type.aten_parts}) {
      for (const auto name : list) EXPECT_TRUE(aten.insert(name).second) << name;
    }
  }
}

TEST(OpTypes, AreFoundByLibTorchsNamesAndOurScopes) {
  EXPECT_EQ(claim_of("aten::addmm").type->name, "matmul");
  EXPECT_EQ(claim_of("aten::convolution_backward").type->op_class, OpClass::kConvolution);
  EXPECT_EQ(claim_of("op:lstm_cell").type->name, "lstm_cell");
  EXPECT_TRUE(claim_of("aten::addmm").has_rows);
  EXPECT_FALSE(claim_of("aten::nll_loss_forward").has_rows);
  EXPECT_EQ(claim_of("aten::view").type, nullptr);
  EXPECT_EQ(name(OpClass::kMovement), "data_movement");
}

}  // namespace
}  // namespace fathom::ops
