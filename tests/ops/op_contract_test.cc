#include <ATen/TensorOperators.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/backends/vendor.h"
#include "ops/core/check.h"
#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;

/// Tests that every op type must pass.
class OpContract : public testing::TestWithParam<Case> {
 protected:
  bool is(std::string_view type) const { return GetParam().type == type; }

  struct Result {
    Tensors before;
    Tensors outputs;
  };
  Result run(at::ScalarType type) const {
    const Tensors inputs = converted(op_->inputs(7), type, at::kCPU);
    const Tensors before = cloned(inputs);
    const Call call = op_->call(inputs);
    const c10::InferenceMode inference;
    return {before, call()};
  }

  const std::unique_ptr<Op> op_ = make_op(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Cases, OpContract, testing::ValuesIn(op_cases()),
                         [](const auto& one) { return case_name(one.param); });

TEST_P(OpContract, AcceptsItsResultsAndRejectsWrongElements) {
  for (const auto precision : precisions(*op_)) {
    const auto [before, outputs] = run(scalar_type(precision));
    EXPECT_NO_THROW(op_->check(before, outputs, precision)) << name(precision);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Tensors wrong = outputs;
      wrong[i] = outputs[i].clone(at::MemoryFormat::Contiguous);
      const at::Tensor last = wrong[i].view(-1).slice(0, -1);
      // Any class and any number of tries is valid.
      if (is("log_uniform") || is("multinomial")) {
        last.fill_(-1);
      } else {
        last.add_(is("normal") ? 1000 : last.is_floating_point() ? 5 : 3);
      }
      EXPECT_THROW(op_->check(before, wrong, precision), std::runtime_error)
          << name(precision) << " output " << i;
    }
  }
}

TEST_P(OpContract, AcceptsTheResultsOfOurOwnKernels) {
  const auto backends = op_->backends();
  const bool native = std::count(backends.begin(), backends.end(), Backend::kNative) > 0;
  for (const auto precision : precisions(*op_)) {
    const Tensors inputs = converted(op_->inputs(7), scalar_type(precision), at::kCPU);
    const Tensors before = cloned(inputs);
    const Call call = op_->native(inputs);
    ASSERT_EQ(call != nullptr, native);
    if (native) {
      EXPECT_NO_THROW(op_->check(before, call(), precision)) << name(precision);
    }
  }
}

TEST_P(OpContract, AcceptsTheResultsOfVendors) {
  for (const Backend backend : op_->backends()) {
    if (!is_vendor(backend)) continue;
    for (const auto precision : precisions(*op_)) {
      if (!is_here(backend, *op_type(GetParam().type), fixtures::Device::kCpu, precision)) continue;
      const Tensors inputs = converted(op_->inputs(7), scalar_type(precision), at::kCPU);
      const auto [outputs, implementation] = vendor_results(backend, *op_, inputs, precision);
      EXPECT_NO_THROW(op_->check(inputs, outputs, precision))
          << name(backend) << ' ' << name(precision) << ' ' << implementation;
      EXPECT_NE(implementation, "");
    }
  }
}

TEST_P(OpContract, RefusesNan) {
  auto [before, outputs] = run(at::kFloat);
  if (!outputs[0].is_floating_point()) GTEST_SKIP() << "integers";
  outputs[0] =
      outputs[0].clone(at::MemoryFormat::Contiguous);  // no inference tensor can be changed
  outputs[0].view(-1)[0] = std::nan("");
  EXPECT_THROW(op_->check(before, outputs, Precision::kFp32), std::runtime_error);
}

TEST_P(OpContract, SaysWhetherItWritesIntoItsInputs) {
  const Tensors inputs = op_->inputs(7);
  const Tensors before = cloned(inputs);
  op_->call(inputs)();
  bool changed = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) changed |= !inputs[i].equal(before[i]);
  EXPECT_EQ(changed, op_->in_place());
}

TEST_P(OpContract, KnowsTheMemoryOfItsInputs) {
  double bytes = 0;
  for (const auto& input : op_->inputs(7)) bytes += static_cast<double>(input.nbytes());
  const double known = op_->cost(Precision::kFp32).bytes + op_->untouched_bytes(Precision::kFp32);
  EXPECT_LE(bytes, 2 * known + 256) << "copies for cold rows would need more memory than predicted";
}

TEST_P(OpContract, DrawsTheSameInputsOfASeed) {
  const Tensors first = op_->inputs(5);
  const Tensors again = op_->inputs(5);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(first[i].equal(again[i])) << "input " << i;
    // The conversion to a precision's type leaves only whole numbers.
    EXPECT_TRUE(first[i].scalar_type() == at::kFloat || !first[i].is_floating_point());
  }
}

TEST_P(OpContract, StaysFinite) {
  const Tensors inputs = op_->inputs(7);
  const Call call = op_->call(inputs);
  const c10::InferenceMode inference;
  for (int i = 0; i < 20; ++i) call();
  for (const auto& output : call())
    EXPECT_TRUE(output.to(at::kDouble).isfinite().all().item<bool>());
}

TEST_P(OpContract, CostsAtLeastItsOutputs) {
  double bytes = 0;
  for (const auto& output : op_->call(op_->inputs(3))()) {
    bytes += static_cast<double>(output.nbytes());
  }
  if (GetParam().has("sparse") && GetParam().pass == kBackward) bytes = 0;
  EXPECT_GE(op_->cost(Precision::kFp32).bytes, bytes);
  EXPECT_GE(op_->cost(Precision::kFp32).bytes, op_->cost(Precision::kBf16).bytes);
}

}  // namespace
}  // namespace fathom::ops
