#include "ops/backends/operators/replaced_kernels.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/cosh.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sinh.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "tests/benchmarks/own_process.h"

namespace fathom::ops {
namespace {

using benchmarks::in_own_process;

int slow_calls = 0;

std::optional<Results> slow(Arguments in, KeptPointer& /*kept*/) {
  ++slow_calls;
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  return Results{at::full_like(in[0].toTensor(), 7)};
}

std::optional<Results> fast(Arguments in, KeptPointer& /*kept*/) {
  if (in[0].toTensor().numel() < 4) return {};
  return Results{at::full_like(in[0].toTensor(), 5)};
}

/// Replacements from the first line of a test on.
struct Installed : ReplacedKernels {
  Installed(std::vector<Replacement> replacements, Choice choice,
            const std::vector<ChosenKernel>* recorded = nullptr)
      : ReplacedKernels("ours", fixtures::Device::kCpu, std::move(replacements), choice) {
    ReplacedKernels::install(recorded);
  }
};

const std::set<std::string> kNothing;

TEST(ReplacedKernels, RunTheFirstThatCan) {
  in_own_process([] {
    Installed kernels({{"cosh", fast}, {"cosh", slow}}, Choice::kFirst);
    EXPECT_EQ(kernels.replaced(), kNothing);
    EXPECT_EQ(at::cosh(at::zeros({4})).sum().item<double>(), 20);
    EXPECT_EQ(at::cosh(at::zeros({3})).sum().item<double>(), 21);
    EXPECT_EQ(kernels.replaced(), std::set<std::string>{"cosh"});
  });
}

/// Runs a call often enough to choose among three kernels.
void call_cosh(const at::Tensor& x) {
  for (int i = 0; i < 18; ++i) at::cosh(x);
}

TEST(ReplacedKernels, TakeTurnsThenRunTheFastest) {
  in_own_process([] {
    Installed kernels({{"cosh", slow}}, Choice::kFastest);
    const at::Tensor x = at::zeros({3});
    EXPECT_EQ(at::cosh(x).sum().item<double>(), 21);
    EXPECT_EQ(at::cosh(x).sum().item<double>(), 3);
    EXPECT_TRUE(kernels.end_round().undecided);
    EXPECT_FALSE(kernels.end_round().undecided) << "a round without calls";
    call_cosh(x);
    EXPECT_TRUE(kernels.end_round().undecided) << "the first of these calls still were";
    at::cosh(x);
    EXPECT_FALSE(kernels.end_round().undecided);
    EXPECT_EQ(slow_calls, 11);
    at::cosh(at::ones({4}));
    EXPECT_EQ(slow_calls, 12) << "the kernels take turns at each shape";
    kernels.end_choice(/*round=*/0);
    const int timed = slow_calls;
    EXPECT_EQ(at::cosh(x).sum().item<double>(), 3) << "LibTorch's is faster";
    EXPECT_EQ(slow_calls, timed);
    EXPECT_EQ(kernels.replaced(), kNothing);
  });
}

TEST(ReplacedKernels, RunTheFastestSoFarBetweenTurns) {
  in_own_process([] {
    Installed kernels({{"cosh", slow}}, Choice::kFastest);
    const at::Tensor x = at::zeros({3});
    for (int i = 0; i < 4; ++i) at::cosh(x);
    EXPECT_EQ(slow_calls, 2);
    kernels.take_turns(false);
    for (int i = 0; i < 4; ++i) at::cosh(x);
    EXPECT_EQ(slow_calls, 2);
    kernels.take_turns(true);
    at::cosh(x);
    EXPECT_EQ(slow_calls, 3);
  });
}

TEST(ReplacedKernels, ReturnTheChoiceOfARound) {
  in_own_process([] {
    Installed kernels({{"cosh", slow}}, Choice::kFastest);
    at::cosh(at::zeros({3}));
    at::cosh(at::zeros({2}));
    kernels.end_round();
    at::cosh(at::zeros({3}));
    at::cosh(at::zeros({3}));
    at::cosh(at::zeros({4}));
    kernels.end_round();
    at::cosh(at::zeros({4}));
    EXPECT_EQ(kernels.end_round().number, 2);
    const auto chosen = kernels.end_choice(1);
    ASSERT_EQ(chosen.size(), 2);
    EXPECT_EQ(chosen[0].calls, 2);
    EXPECT_EQ(chosen[1].calls, 1);
  });
}

TEST(ReplacedKernels, StayLibTorchsWhereTooFewCallsWereTimed) {
  in_own_process([] {
    Installed kernels({{"cosh", fast}}, Choice::kFastest);
    const at::Tensor large = at::zeros({1 << 22});
    EXPECT_EQ(at::cosh(large)[0].item<double>(), 5);
    const auto chosen = kernels.end_choice(/*round=*/0);
    EXPECT_EQ(at::cosh(large)[0].item<double>(), 1);
    EXPECT_TRUE(chosen.at(0).us.empty());
  });
}

TEST(ReplacedKernels, OfAGradientStayWithTheForwardPass) {
  in_own_process([] {
    Replacement gradient{"sinh", fast};
    gradient.forward = "cosh";
    Installed kernels({{"cosh", fast}, gradient}, Choice::kFastest);
    call_cosh(at::zeros({1 << 22}));
    at::sinh(at::zeros({4}));
    kernels.end_choice(/*round=*/0);
    EXPECT_EQ(kernels.replaced(), (std::set<std::string>{"cosh", "sinh"}));
    EXPECT_EQ(at::sinh(at::zeros({4})).sum().item<double>(), 20);
  });
}

TEST(ReplacedKernels, OfAGradientEndWithTheForwardPass) {
  in_own_process([] {
    Replacement gradient{"sinh", fast};
    gradient.forward = "cosh";
    Installed kernels({{"cosh", slow}, gradient}, Choice::kFastest);
    call_cosh(at::zeros({4}));
    EXPECT_EQ(at::sinh(at::zeros({4})).sum().item<double>(), 20);
    kernels.end_choice(/*round=*/0);
    EXPECT_EQ(kernels.replaced(), kNothing);
    EXPECT_EQ(at::sinh(at::zeros({4})).sum().item<double>(), 0);
  });
}

int forgotten = 0;

/// Keeps something that counts when it is forgotten.
std::optional<Results> keeping(Arguments in, KeptPointer& kept) {
  struct Counted final : Kept {
    ~Counted() override { ++forgotten; }
  };
  if (kept == nullptr) kept = std::make_unique<Counted>();
  return fast(in, kept);
}

TEST(ReplacedKernels, OfAGradientForgetWhatTheChoiceLeft) {
  in_own_process([] {
    Replacement gradient{"sinh", keeping};
    gradient.forward = "cosh";
    Installed kernels({{"cosh", fast}, gradient}, Choice::kFastest);
    call_cosh(at::zeros({4}));
    at::sinh(at::zeros({4}));
    at::sinh(at::zeros({5}));
    kernels.end_choice(/*round=*/0);
    EXPECT_EQ(forgotten, 2);
  });
}

TEST(ReplacedKernels, FallBackToLibTorch) {
  in_own_process([] {
    Installed kernels({{"cosh", fast}}, Choice::kFirst);
    EXPECT_EQ(at::cosh(at::zeros({3})).sum().item<double>(), 3);
    EXPECT_EQ(kernels.replaced(), kNothing);
  });
}

TEST(ReplacedKernels, AreTakenBackWhereNoCallRanOne) {
  in_own_process([] {
    Installed kernels({{"cosh", fast}, {"sinh", slow}}, Choice::kFirst);
    at::cosh(at::zeros({4}));
    kernels.end_choice(/*round=*/0);
    EXPECT_EQ(at::cosh(at::zeros({4})).sum().item<double>(), 20);
    EXPECT_EQ(at::sinh(at::zeros({4})).sum().item<double>(), 0);
    EXPECT_EQ(slow_calls, 0);
  });
}

TEST(ReplacedKernels, EndWithTheirSet) {
  in_own_process([] {
    const at::Tensor x = at::zeros({4});
    for (int i = 0; i < 2; ++i) {
      const Installed kernels({{"cosh", keeping}}, Choice::kFirst);
      EXPECT_EQ(at::cosh(x).sum().item<double>(), 20);
    }
    EXPECT_EQ(at::cosh(x).sum().item<double>(), 4);
    EXPECT_EQ(forgotten, 2);
  });
}

TEST(ReplacedKernels, AreInstalledOnce) {
  in_own_process([] {
    Installed kernels({{"cosh", slow}}, Choice::kFastest);
    at::cosh(at::zeros({3}));
    kernels.end_choice(/*round=*/0);
    kernels.install(nullptr);
    EXPECT_EQ(at::cosh(at::zeros({3})).sum().item<double>(), 3) << "LibTorch's, as chosen";
    EXPECT_EQ(slow_calls, 1);
  });
}

TEST(ReplacedKernels, AreNotTimedAfterTheChoice) {
  in_own_process([] {
    Installed kernels({{"cosh", fast}}, Choice::kFastest);
    const at::Tensor large = at::zeros({1 << 22});
    call_cosh(large);
    kernels.end_choice(/*round=*/0);
    EXPECT_EQ(at::cosh(large)[0].item<double>(), 5) << "filling is faster than LibTorch's";
    EXPECT_EQ(at::cosh(at::zeros({1 << 23}))[0].item<double>(), 1) << "a new shape";
  });
}

TEST(ReplacedKernels, KeepTheirGradient) {
  in_own_process([] {
    Installed kernels({{"cosh", fast}}, Choice::kFirst);
    const at::Tensor x = at::zeros({4}).requires_grad_();
    at::cosh(x).sum().backward();
    EXPECT_EQ(x.grad().sum().item<double>(), 0) << "sinh(0)";
  });
}

Replacement cosh_on(const char* backend, Attempt run) {
  Replacement one{"cosh", run};
  one.backend = backend;
  return one;
}

/// A choice with a call of cosh on `kernel`.
std::vector<ChosenKernel> recorded_on(const std::string& kernel) {
  return {{.op = "cosh", .call = "float[4]", .kernel = kernel, .us = {{"torch", 9}}, .calls = 3},
          {.op = "sinh", .call = "float[3]", .kernel = "slow"}};
}

TEST(ReplacedKernels, ReturnTheChoice) {
  in_own_process([] {
    Installed kernels({cosh_on("slow", slow), cosh_on("fast", fast)}, Choice::kFastest);
    call_cosh(at::zeros({2}));
    call_cosh(at::zeros({1 << 22}));
    const auto chosen = kernels.end_choice(/*round=*/0);
    at::cosh(at::ones({1 << 22}));
    ASSERT_EQ(chosen.size(), 2);
    EXPECT_EQ(chosen[0].op, "cosh");
    EXPECT_EQ(chosen[0].call, "float[2]");
    EXPECT_EQ(chosen[0].kernel, "torch");
    EXPECT_EQ(chosen[0].calls, 18);
    EXPECT_GT(chosen[0].us.at("slow"), 3e4);
    EXPECT_FALSE(chosen[0].us.contains("fast")) << "it has no kernel for 2 elements";
    EXPECT_EQ(chosen[1].kernel, "fast");
    EXPECT_EQ(chosen[1].calls, 18);
    EXPECT_LT(chosen[1].us.at("fast"), chosen[1].us.at("torch"));
  });
}

TEST(ReplacedKernels, RepeatARecordedChoice) {
  in_own_process([] {
    const auto recorded = recorded_on("slow");
    Installed kernels({cosh_on("slow", slow)}, Choice::kFastest, &recorded);
    EXPECT_EQ(at::cosh(at::zeros({4})).sum().item<double>(), 28) << "though LibTorch's is faster";
    EXPECT_EQ(slow_calls, 1) << "it takes no turns";
    EXPECT_EQ(at::cosh(at::zeros({3})).sum().item<double>(), 3) << "a call that is not recorded";
    EXPECT_FALSE(kernels.end_round().undecided);
    const auto chosen = kernels.end_choice(/*round=*/0);
    ASSERT_EQ(chosen.size(), 1);
    EXPECT_EQ(chosen[0].calls, 1);
    EXPECT_EQ(chosen[0].us.at("torch"), 9);
  });
}

TEST(ReplacedKernels, RefuseARecordedKernelThatIsNotThere) {
  in_own_process([] {
    const auto recorded = recorded_on("onednn");
    Installed kernels({cosh_on("slow", slow)}, Choice::kFastest, &recorded);
    EXPECT_THROW(at::cosh(at::zeros({4})), std::runtime_error);
  });
}

TEST(CallText, SaysEachArgument) {
  const at::Tensor image = at::zeros({2, 3, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor row = at::zeros({3}, at::kLong);
  const std::vector<c10::IValue> call{image,
                                      row,
                                      row,
                                      c10::IValue(),
                                      at::Tensor(),
                                      7,
                                      true,
                                      0.5,
                                      std::vector<int64_t>{1, 2},
                                      c10::List<bool>({true, false})};
  EXPECT_EQ(text_of(call), "float[2,3,4,4]{48,1,12,3} long[3] long[3]=1 - - 7 true 0.5 [1,2] 10");
}

TEST(CallText, DiffersWhereTheKeyDoes) {
  const at::Tensor row = at::zeros({1, 3});
  const at::Tensor turned = at::zeros({3, 1}).t();  // contiguous, too, but with other strides
  EXPECT_EQ(text_of(std::vector<c10::IValue>{row}), "float[1,3]");
  EXPECT_EQ(text_of(std::vector<c10::IValue>{turned}), "float[1,3]{1,1}");
}

TEST(NativeOperators, LeaveToLibTorchWhatItBroadcastsOrRefuses) {
  in_own_process([] {
    Installed kernels(native_operators(), Choice::kFirst);
    const at::Tensor x = at::ones({2, 3});
    const at::Tensor weight = at::ones({40, 3});
    EXPECT_EQ(at::addmm(at::ones({1}), x, weight.t()).sum().item<double>(), 2 * 40 * 4);
    EXPECT_EQ(kernels.replaced(), kNothing);
    EXPECT_THROW(at::mm(at::ones({2, 4}), weight.t()), c10::Error);
    at::addmm(at::ones({40}), x, weight.t());
    EXPECT_EQ(kernels.replaced(), std::set<std::string>{"addmm"});
  });
}

std::optional<Results> no_norm(Arguments /*in*/, KeptPointer& /*kept*/) { return {}; }

TEST(ReplacedKernels, RunACallOnceWhileTheyTakeTurns) {
  in_own_process([] {
    Installed kernels({{"native_batch_norm", no_norm}}, Choice::kFastest);
    const at::Tensor mean = at::zeros({2});
    const at::Tensor x = at::ones({3, 2, 4, 4});
    at::native_batch_norm(x, at::ones({2}), at::zeros({2}), mean, at::ones({2}), true, 0.5, 1e-5);
    EXPECT_EQ(mean[0].item<double>(), 0.5) << "one call moves it half-way to the batch's 1";
  });
}

}  // namespace
}  // namespace fathom::ops
