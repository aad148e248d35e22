#include <ATen/ops/ones.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "fixtures/machine/device.h"
#include "ops/backends/vendor.h"
#include "ops/core/buffer.h"
#include "ops/core/check.h"
#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

using fixtures::Device;
using fixtures::Precision;

constexpr std::array kCudaVendors{Backend::kCublas, Backend::kCudnn};

bool refuses(const std::string& words) {
  return words.find("has no") != std::string::npos ||
         words.find("NOT_SUPPORTED") != std::string::npos;
}

void expect_right(const Op& op, Backend backend, Precision precision) {
  const auto type = precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
  const c10::InferenceMode inference;
  const Tensors inputs = converted(op.inputs(7), type, fixtures::torch_device(Device::kCuda));
  try {
    std::string words;
    const Tensors outputs = vendor_results(op, backend, precision, inputs, &words);
    fixtures::synchronize(Device::kCuda);
    op.check(inputs, outputs, precision);
    EXPECT_NE(words, "");
  } catch (const std::runtime_error& error) {
    if (precision != Precision::kBf16 || !refuses(error.what())) ADD_FAILURE() << error.what();
  }
}

// One test, because a process needs seconds to initialise a GPU.
TEST(CudaVendors, AgreeWithFloat64) {
  if (const auto& why = fixtures::unavailable_reason(Device::kCuda); !why.empty())
    GTEST_SKIP() << why;
  for (const Case& one : op_cases()) {
    const auto op = make_op(one);
    const auto backends = op->backends();
    for (const Backend backend : kCudaVendors) {
      if (std::find(backends.begin(), backends.end(), backend) == backends.end()) continue;
      for (const auto precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
        SCOPED_TRACE(case_name(one) + ' ' + std::string(name(backend)) + ' ' +
                     std::string(name(precision)));
        expect_right(*op, backend, precision);
      }
    }
  }
}

TEST(CudaNative, AgreesWithFloat64) {
  if (const auto& why = fixtures::unavailable_reason(Device::kCuda); !why.empty())
    GTEST_SKIP() << why;
  for (const Case& one : op_cases()) {
    const auto op = make_op(one);
    for (const auto& [type, precision] :
         {std::pair{at::kFloat, Precision::kFp32}, std::pair{at::kBFloat16, Precision::kBf16}}) {
      const Tensors inputs = converted(op->inputs(7), type, fixtures::torch_device(Device::kCuda));
      const Tensors before = cloned(inputs);
      const Call call = op->native(inputs);
      if (call == nullptr) continue;
      EXPECT_NO_THROW(op->check(before, call(), precision))
          << case_name(one) << ' ' << name(precision);
    }
  }
}

TEST(CudaVendors, SayWhyTheyAreAbsent) {
  const std::string& why = fixtures::unavailable_reason(Device::kCuda);
  if (why.empty()) GTEST_SKIP() << "this machine has a GPU";
  const at::Tensor x = at::ones({2, 2});
  const MatmulProblem problem{.a = buffer(x), .b = buffer(x), .c = buffer(x)};
  for (const Backend backend : kCudaVendors) {
    try {
      vendor_kernel(backend, problem, Precision::kFp32);
      ADD_FAILURE() << "expected to throw";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), std::string(name(backend)) + ": " + why);
    }
  }
}

}  // namespace
}  // namespace fathom::ops
