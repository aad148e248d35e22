#include "ops/backends/replaced_operators.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cosh.h>
#include <ATen/ops/full_like.h>
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

TEST(ReplacedOperators, RunTheFastest) {
  in_own_process([] {
    replace_operators({{"cosh", slow}}, Choice::kFastest);
    EXPECT_EQ(at::cosh(at::zeros({3})).sum().item<double>(), 3) << "LibTorch's is faster";
    const int timed = slow_calls;
    EXPECT_GE(timed, 2);
    at::cosh(at::ones({3}));
    EXPECT_EQ(slow_calls, timed) << "a call of the same shape is not timed again";
    at::cosh(at::ones({4}));
    EXPECT_GT(slow_calls, timed) << "one of another shape is";
    EXPECT_TRUE(replaced_operators().empty());
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
    end_choice();
    EXPECT_EQ(at::cosh(at::zeros({4})).sum().item<double>(), 20);
    EXPECT_EQ(at::sinh(at::zeros({4})).sum().item<double>(), 0);
    EXPECT_EQ(slow_calls, 0);
  });
}

TEST(ReplacedOperators, AreNotTimedAfterTheChoice) {
  in_own_process([] {
    replace_operators({{"cosh", fast}}, Choice::kFastest);
    const at::Tensor large = at::zeros({1 << 22});
    EXPECT_EQ(at::cosh(large)[0].item<double>(), 5) << "filling is faster than LibTorch's";
    end_choice();
    EXPECT_EQ(at::cosh(large)[0].item<double>(), 5);
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

std::optional<Results> no_norm(Arguments /*in*/, const CallKey& /*key*/) { return {}; }

TEST(ReplacedOperators, AreTimedWithoutChangingArguments) {
  in_own_process([] {
    replace_operators({{"native_batch_norm", no_norm, {3, 4}}}, Choice::kFastest);
    const at::Tensor mean = at::zeros({2});
    const at::Tensor x = at::ones({3, 2, 4, 4});
    at::native_batch_norm(x, at::ones({2}), at::zeros({2}), mean, at::ones({2}), true, 0.5, 1e-5);
    EXPECT_EQ(mean[0].item<double>(), 0.5) << "one call moves it half-way to the batch's 1";
  });
}

}  // namespace
}  // namespace fathom::ops
