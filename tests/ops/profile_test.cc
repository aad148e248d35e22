#include "ops/profiler/profile.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/record_function.h>
#include <c10/util/ApproximateClock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "fixtures/machine/device.h"
#include "ops/kernels/recurrent/lstm_cell.h"
#include "ops/profiler/gpu_events.h"
#include "ops/types/table.h"
#include "tests/ops/gpu/fake_gpu.h"

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

TEST_F(ProfileTest, CountsTheOpInAFunctionOfTheSameNameOnce) {
  const at::Tensor batch = at::ones({2, 64, 64});
  const Profile found = profile([&] {
    for (int i = 0; i < 5; ++i) at::matmul(batch, square);  // runs an mm
  });
  const OpTime matmul = time_of(found, "matmul");
  EXPECT_EQ(matmul.count, 5);
  EXPECT_EQ(matmul.op_class, OpClass::kMatrix);
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
  EXPECT_EQ(time_of(found, "cumsum").op_class, OpClass::kElementwise);
  EXPECT_EQ(time_of(found, "view").count, 1);
  EXPECT_EQ(time_of(found, "view").op_class, OpClass::kFramework);
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

TEST_F(ProfileTest, AttributesGpuTimeToTheOpThatLaunchedIt) {
  FakeGpu gpu;
  const auto work = [&] {
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
  };
  const Profile found = gpu_profile(work, gpu.profiler()).value();
  EXPECT_NEAR(time_of(found, "lstm_cell").seconds, 7e-6, 1e-12);
  EXPECT_NEAR(time_of(found, "adam").seconds, 0.5e-6, 1e-12);
  EXPECT_EQ(time_of(found, "lstm_cell").count, 1);
  EXPECT_EQ(time_of(found, "matmul").count, 0);
  EXPECT_NEAR(time_of(found, "framework").seconds, found.seconds - 7.5e-6, 1e-12);
  EXPECT_NEAR(found.gpu_seconds.value(), 57.5e-6, 1e-12);
}

using What = TraceEvent::What;

/// A trace in which a kernel is launched by our own code and has the number of an op as its id, as
/// Kineto counts ops and CUPTI counts calls, both from 1.
TEST(GpuWork, IsLaunchedByTheCallWithItsId) {
  const std::vector<TraceEvent> trace{
      {.what = What::kOp, .id = 7, .linked = 0, .begin = 100, .end = 200},
      {.what = What::kOther, .id = 7, .linked = 0, .begin = 300, .end = 900},  // a scope
      {.what = What::kCall, .id = 7, .linked = 0, .begin = 400, .end = 420},
      {.what = What::kGpuWork, .id = 7, .linked = 0, .begin = 1000, .end = 1500}};
  const auto found = gpu_work(trace);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].launched, 410);
  EXPECT_EQ(found[0].begin, 1000);
  EXPECT_EQ(found[0].end, 1500);
}

TEST(GpuWork, IsLaunchedByTheLinkedOpWhereNoCallIsKnown) {
  const std::vector<TraceEvent> trace{
      {.what = What::kOther, .id = 3, .linked = 0, .begin = 0, .end = 50},
      {.what = What::kOp, .id = 3, .linked = 0, .begin = 100, .end = 200},
      {.what = What::kCall, .id = 8, .linked = 4, .begin = 300, .end = 320},
      {.what = What::kGpuWork, .id = 9, .linked = 3, .begin = 1000, .end = 1500},
      {.what = What::kGpuWork, .id = 10, .linked = 0, .begin = 1500, .end = 1600},
      {.what = What::kGpuWork, .id = 11, .linked = 8, .begin = 1600, .end = 1700}};
  const auto found = gpu_work(trace);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].launched, 150);
  EXPECT_EQ(found[1].launched, 0) << "nothing launched it";
  EXPECT_EQ(found[2].launched, 0) << "8 is a call's id, not an op's";
}

TEST_F(ProfileTest, GivesOurOwnKernelsToTheirScope) {
  std::vector<TraceEvent> trace;
  const auto launch = [&](uint64_t id) {
    const int64_t now = c10::getTime();
    trace.push_back({.what = What::kCall, .id = id, .linked = 0, .begin = now, .end = now});
    const int64_t begin = now + 1'000'000 * static_cast<int64_t>(id);
    trace.push_back(
        {.what = What::kGpuWork, .id = id, .linked = 0, .begin = begin, .end = begin + 3'000});
  };
  const Profile found = gpu_profile(
                            [&] {
                              {
                                RECORD_USER_SCOPE("op:rmsprop");
                                launch(1);
                              }
                              RECORD_USER_SCOPE("op:local_response_norm");
                              launch(2);
                              launch(3);
                            },
                            [&](const std::function<void()>& work) {
                              work();
                              return gpu_work(trace);
                            })
                            .value();
  EXPECT_NEAR(time_of(found, "rmsprop").seconds, 3e-6, 1e-12);
  EXPECT_NEAR(time_of(found, "local_response_norm").seconds, 6e-6, 1e-12);
  EXPECT_NEAR(found.gpu_seconds.value(), 9e-6, 1e-12);
}

TEST_F(ProfileTest, CountsWhatAttentionCallsAsPartOfIt) {
  const at::Tensor q = at::randn({1, 2, 3, 5}).requires_grad_();
  const at::Tensor mask = at::ones({1, 1, 3, 3}, at::kBool);
  const at::Tensor g = at::ones({1, 2, 3, 5});
  const Profile found =
      profile([&] { at::scaled_dot_product_attention(q, q, q, mask).backward(g); });
  EXPECT_EQ(time_of(found, "scaled_dot_product_attention").count, 2);
  for (const auto& op : found.ops) {
    EXPECT_TRUE(op.type != "batched_matmul" && op.type != "softmax" && op.type != "where" &&
                op.type != "fill")
        << op.type;
  }
}

TEST_F(ProfileTest, TellsALossFromALogSoftmax) {
  const at::Tensor x = at::randn({3, 5}).requires_grad_();
  const at::Tensor labels = at::ones({3}, at::kLong);
  for (const double smoothing : {0.0, 0.1}) {
    const Profile loss = profile([&] {
      at::cross_entropy_loss(x, labels, {}, at::Reduction::Mean, -100, smoothing).backward();
    });
    EXPECT_EQ(time_of(loss, "softmax_cross_entropy").count, 2);
    EXPECT_EQ(time_of(loss, "log_softmax").count, 0);
    EXPECT_EQ(time_of(loss, "sum").count, 0) << "counted at two levels";
  }
  const at::Tensor g = at::ones({3, 5});
  const Profile scores = profile([&] { at::log_softmax(x, 1).backward(g); });
  EXPECT_EQ(time_of(scores, "log_softmax").count, 2);
  EXPECT_EQ(time_of(scores, "softmax_cross_entropy").count, 0);
}

TEST_F(ProfileTest, CountsTheSameCallsOnBothDevices) {
  FakeGpu gpu;
  const auto work = [&] {
    const at::Tensor x = at::randn({3, 5}).requires_grad_();
    at::mm(x, at::ones({5, 2})).relu().sum().backward();
    gpu.launch(1'000);
  };
  const Profile host = profile(work);
  const Profile device = gpu_profile(work, gpu.profiler()).value();
  ASSERT_EQ(host.ops.size(), device.ops.size());
  for (const auto& op : host.ops) EXPECT_EQ(time_of(device, op.type).count, op.count) << op.type;
}

TEST_F(ProfileTest, IsUnknownWhereTheProfilerRecordsNothingOnTheGpu) {
  EXPECT_FALSE(gpu_profile([&] { at::mm(square, square); }, FakeGpu().profiler()));
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
  const Profile found = gpu_profile(work).value();
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
