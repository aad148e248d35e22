#include "ops/backends/operators/replaced_operators.h"

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
#include <thread>

#include "tests/benchmarks/own_process.h"

namespace fathom::ops {
namespace {

using benchmarks::in_own_process;

int slow_calls = 0;

std::optional<Results> slow(Arguments in, const CallKey& /*key*/) {
  ++slow_calls;
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  return Results{at::full_like(in[0].toTensor(), 7)};
}

std::optional<Results> fast(Arguments in, const CallKey& /*key*/) {
  if (in[0].toTensor().numel() < 4) return {};
  return Results{at::full_like(in[0].toTensor(), 5)};
}

TEST(ReplacedOperators, RunTheFirstThatCan) {
  in_own_process([] {
    replace_operators({{"cosh", fast}, {"cosh", slow}}, Choice::kFirst);
    EXPECT_TRUE(replaced_operators().empty());
    EXPECT_EQ(at::cosh(at::zeros({4})).sum().item<double>(), 20);
    EXPECT_EQ(at::cosh(at::zeros({3})).sum().item<double>(), 21);
    EXPECT_EQ(replaced_operators(), std::set<std::string>{"cosh"});
  });
}

/// Runs a call often enough to choose among three kernels.
void call_cosh(const at::Tensor& x) {
  for (int i = 0; i < 18; ++i) at::cosh(x);
}

TEST(ReplacedOperators, TakeTurnsThenRunTheFastest) {
  in_own_process([] {
    replace_operators({{"cosh", slow}}, Choice::kFastest);
    const at::Tensor x = at::zeros({3});
    EXPECT_EQ(at::cosh(x).sum().item<double>(), 21);
    EXPECT_EQ(at::cosh(x).sum().item<double>(), 3);
    EXPECT_TRUE(end_round().undecided);
    EXPECT_FALSE(end_round().undecided) << "a round without calls";
    call_cosh(x);
    EXPECT_TRUE(end_round().undecided) << "the first of these calls still were";
    at::cosh(x);
    EXPECT_FALSE(end_round().undecided);
    EXPECT_EQ(slow_calls, 11);
    at::cosh(at::ones({4}));
    EXPECT_EQ(slow_calls, 12) << "the kernels take turns at each shape";
    end_choice(/*round=*/0);
    const int timed = slow_calls;
    EXPECT_EQ(at::cosh(x).sum().item<double>(), 3) << "LibTorch's is faster";
    EXPECT_EQ(slow_calls, timed);
    EXPECT_TRUE(replaced_operators().empty());
  });
}

TEST(ReplacedOperators, RunTheFastestSoFarBetweenTurns) {
  in_own_process([] {
    replace_operators({{"cosh", slow}}, Choice::kFastest);
    const at::Tensor x = at::zeros({3});
    for (int i = 0; i < 4; ++i) at::cosh(x);
    EXPECT_EQ(slow_calls, 2);
    take_turns(false);
    for (int i = 0; i < 4; ++i) at::cosh(x);
    EXPECT_EQ(slow_calls, 2);
    take_turns(true);
    at::cosh(x);
    EXPECT_EQ(slow_calls, 3);
  });
}

TEST(ReplacedOperators, ReturnTheChoiceOfARound) {
  in_own_process([] {
    replace_operators({{"cosh", slow}}, Choice::kFastest);
    at::cosh(at::zeros({3}));
    at::cosh(at::zeros({2}));
    end_round();
    at::cosh(at::zeros({3}));
    at::cosh(at::zeros({3}));
    at::cosh(at::zeros({4}));
    end_round();
    at::cosh(at::zeros({4}));
    EXPECT_EQ(end_round().number, 2);
    const auto kernels = end_choice(1);
    ASSERT_EQ(kernels.size(), 2);
    EXPECT_EQ(kernels[0].calls, 2);
    EXPECT_EQ(kernels[1].calls, 1);
  });
}

TEST(ReplacedOperators, StayLibTorchsWhereTooFewCallsWereTimed) {
  in_own_process([] {
    replace_operators({{"cosh", fast}}, Choice::kFastest);
    const at::Tensor large = at::zeros({1 << 22});
    EXPECT_EQ(at::cosh(large)[0].item<double>(), 5);
    const auto kernels = end_choice(/*round=*/0);
    EXPECT_EQ(at::cosh(large)[0].item<double>(), 1);
    EXPECT_TRUE(kernels.at(0).us.empty());
  });
}

TEST(ReplacedOperators, OfAGradientStayWithTheForwardPass) {
  in_own_process([] {
    Replacement gradient{"sinh", fast};
    gradient.forward = "cosh";
    replace_operators({{"cosh", fast}, gradient}, Choice::kFastest);
    call_cosh(at::zeros({1 << 22}));
    at::sinh(at::zeros({4}));
    end_choice(/*round=*/0);
    EXPECT_EQ(replaced_operators(), (std::set<std::string>{"cosh", "sinh"}));
    EXPECT_EQ(at::sinh(at::zeros({4})).sum().item<double>(), 20);
  });
}

TEST(ReplacedOperators, OfAGradientEndWithTheForwardPass) {
  in_own_process([] {
    Replacement gradient{"sinh", fast};
    gradient.forward = "cosh";
    replace_operators({{"cosh", slow}, gradient}, Choice::kFastest);
    call_cosh(at::zeros({4}));
    EXPECT_EQ(at::sinh(at::zeros({4})).sum().item<double>(), 20);
    end_choice(/*round=*/0);
    EXPECT_TRUE(replaced_operators().empty());
    EXPECT_EQ(at::sinh(at::zeros({4})).sum().item<double>(), 0);
  });
}

int forgotten = 0;

TEST(ReplacedOperators, OfAGradientForgetWhatTheChoiceLeft) {
  in_own_process([] {
    Replacement gradient{"sinh", fast};
    gradient.forward = "cosh";
    gradient.forget = [](const CallKey& /*key*/) { ++forgotten; };
    replace_operators({{"cosh", fast}, gradient}, Choice::kFastest);
    call_cosh(at::zeros({4}));
    at::sinh(at::zeros({4}));
    at::sinh(at::zeros({5}));
    end_choice(/*round=*/0);
    EXPECT_EQ(forgotten, 2);
  });
}

TEST(ReplacedOperators, FallBackToLibTorch) {
  in_own_process([] {
    replace_operators({{"cosh", fast}}, Choice::kFirst);
    EXPECT_EQ(at::cosh(at::zeros({3})).sum().item<double>(), 3);
    EXPECT_TRUE(replaced_operators().empty());
  });
}

TEST(ReplacedOperators, AreTakenBackWhereNoCallRanOne) {
  in_own_process([] {
    replace_operators({{"cosh", fast}, {"sinh", slow}}, Choice::kFirst);
    at::cosh(at::zeros({4}));
    end_choice(/*round=*/0);
    EXPECT_EQ(at::cosh(at::zeros({4})).sum().item<double>(), 20);
    EXPECT_EQ(at::sinh(at::zeros({4})).sum().item<double>(), 0);
    EXPECT_EQ(slow_calls, 0);
  });
}

TEST(ReplacedOperators, AreNotTimedAfterTheChoice) {
  in_own_process([] {
    replace_operators({{"cosh", fast}}, Choice::kFastest);
    const at::Tensor large = at::zeros({1 << 22});
    call_cosh(large);
    end_choice(/*round=*/0);
    EXPECT_EQ(at::cosh(large)[0].item<double>(), 5) << "filling is faster than LibTorch's";
    EXPECT_EQ(at::cosh(at::zeros({1 << 23}))[0].item<double>(), 1) << "a new shape";
  });
}

TEST(ReplacedOperators, KeepTheirGradient) {
  in_own_process([] {
    replace_operators({{"cosh", fast}}, Choice::kFirst);
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
std::vector<ChosenKernel> recorded(const std::string& kernel) {
  return {{.op = "cosh", .call = "float[4]", .kernel = kernel, .us = {{"torch", 9}}, .calls = 3},
          {.op = "sinh", .call = "float[3]", .kernel = "slow"}};
}

TEST(ReplacedOperators, ReturnTheChoice) {
  in_own_process([] {
    replace_operators({cosh_on("slow", slow), cosh_on("fast", fast)}, Choice::kFastest);
    call_cosh(at::zeros({2}));
    call_cosh(at::zeros({1 << 22}));
    const auto kernels = end_choice(/*round=*/0);
    at::cosh(at::ones({1 << 22}));
    ASSERT_EQ(kernels.size(), 2);
    EXPECT_EQ(kernels[0].op, "cosh");
    EXPECT_EQ(kernels[0].call, "float[2]");
    EXPECT_EQ(kernels[0].kernel, "torch");
    EXPECT_EQ(kernels[0].calls, 18);
    EXPECT_GT(kernels[0].us.at("slow"), 3e4);
    EXPECT_FALSE(kernels[0].us.contains("fast")) << "it has no kernel for 2 elements";
    EXPECT_EQ(kernels[1].kernel, "fast");
    EXPECT_EQ(kernels[1].calls, 18);
    EXPECT_LT(kernels[1].us.at("fast"), kernels[1].us.at("torch"));
  });
}

TEST(ReplacedOperators, RepeatARecordedChoice) {
  in_own_process([] {
    const auto kernels = recorded("slow");
    replace_operators({cosh_on("slow", slow)}, Choice::kFastest, &kernels);
    EXPECT_EQ(at::cosh(at::zeros({4})).sum().item<double>(), 28) << "though LibTorch's is faster";
    EXPECT_EQ(slow_calls, 1) << "it takes no turns";
    EXPECT_EQ(at::cosh(at::zeros({3})).sum().item<double>(), 3) << "a call that is not recorded";
    EXPECT_FALSE(end_round().undecided);
    const auto chosen = end_choice(/*round=*/0);
    ASSERT_EQ(chosen.size(), 1);
    EXPECT_EQ(chosen[0].calls, 1);
    EXPECT_EQ(chosen[0].us.at("torch"), 9);
  });
}

TEST(ReplacedOperators, RefuseARecordedKernelThatIsNotThere) {
  in_own_process([] {
    const auto kernels = recorded("onednn");
    replace_operators({cosh_on("slow", slow)}, Choice::kFastest, &kernels);
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
    replace_operators(native_operators(), Choice::kFirst);
    const at::Tensor x = at::ones({2, 3});
    const at::Tensor weight = at::ones({40, 3});
    EXPECT_EQ(at::addmm(at::ones({1}), x, weight.t()).sum().item<double>(), 2 * 40 * 4);
    EXPECT_TRUE(replaced_operators().empty());
    EXPECT_THROW(at::mm(at::ones({2, 4}), weight.t()), c10::Error);
    at::addmm(at::ones({40}), x, weight.t());
    EXPECT_EQ(replaced_operators(), std::set<std::string>{"addmm"});
  });
}

std::optional<Results> no_norm(Arguments /*in*/, const CallKey& /*key*/) { return {}; }

TEST(ReplacedOperators, RunACallOnceWhileTheyTakeTurns) {
  in_own_process([] {
    replace_operators({{"native_batch_norm", no_norm}}, Choice::kFastest);
    const at::Tensor mean = at::zeros({2});
    const at::Tensor x = at::ones({3, 2, 4, 4});
    at::native_batch_norm(x, at::ones({2}), at::zeros({2}), mean, at::ones({2}), true, 0.5, 1e-5);
    EXPECT_EQ(mean[0].item<double>(), 0.5) << "one call moves it half-way to the batch's 1";
  });
}

}  // namespace
}  // namespace fathom::ops
