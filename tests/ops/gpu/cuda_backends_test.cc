#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "fixtures/files/text.h"
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

/// Runs the op, checks its result and returns the library's name of the implementation.
std::string checked_implementation(const Op& op, Backend backend, Precision precision) {
  // Not in inference mode, in which a backward pass has no gradients.
  const Tensors inputs =
      converted(op.inputs(7), scalar_type(precision), fixtures::torch_device(Device::kCuda));
  const auto [outputs, implementation] = vendor_results(backend, op, inputs, precision);
  fixtures::synchronize(Device::kCuda);
  op.check(inputs, outputs, precision);
  return implementation;
}

constexpr std::string_view kConvolution =
    R"({"n": 8, "c": 64, "k": 64, "image": [56, 56], "kernel": [3, 3], "padding": [1, 1], "bias": true})";

/// The examples of all op types, and shapes for which cuDNN has other kernels than for small ones.
std::vector<Case> small_and_large_cases() {
  constexpr std::string_view kLstm =
      R"({"steps": 40, "n": 64, "inputs": 256, "width": 256, "bias": true})";
  constexpr std::string_view kNorm =
      R"({"sizes": [64, 96, 27, 27], "size": 5, "alpha": 1e-4, "beta": 0.75, "bias": 2})";
  constexpr std::string_view kCtc = R"({"frames": 50, "n": 4, "classes": 62, "labels": 7})";
  std::vector<Case> cases = op_cases();
  cases.insert(cases.end(), {{"conv2d", Pass::kForward, kConvolution},
                             {"conv2d", Pass::kDgrad, kConvolution},
                             {"conv2d", Pass::kWgrad, kConvolution},
                             {"lstm", Pass::kForward, kLstm},
                             {"lstm", Pass::kBackward, kLstm},
                             {"local_response_norm", Pass::kForward, kNorm},
                             {"local_response_norm", Pass::kBackward, kNorm},
                             {"ctc_loss", Pass::kBackward, kCtc}});
  return cases;
}

// One test, because a process needs seconds to initialise a GPU. What a library refuses in bf16 has
// no rows (drop_refused).
TEST(CudaVendors, AgreeWithFloat64AndRefuseNothingInFp32AndTf32) {
  if (const auto& why = fixtures::unavailable_reason(Device::kCuda); !why.empty())
    GTEST_SKIP() << why;
  for (const Case& one : small_and_large_cases()) {
    const auto op = make_op(one);
    const auto backends = op->backends();
    for (const Backend backend : kCudaVendors) {
      if (std::find(backends.begin(), backends.end(), backend) == backends.end()) continue;
      for (const auto precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
        SCOPED_TRACE(case_name(one) + ' ' + std::string(name(precision)) + ' ' +
                     std::string(name(backend)));
        try {
          EXPECT_NE(checked_implementation(*op, backend, precision), "");
        } catch (const NotSupported& error) {
          if (precision != Precision::kBf16) ADD_FAILURE() << fixtures::first_line(error.what());
        } catch (const std::exception& error) {  // c10::Error, too, so that other cases run
          ADD_FAILURE() << fixtures::first_line(error.what());
        }
      }
    }
  }
}

TEST(CudaVendors, RoundNoFp32ConvolutionToTf32) {
  if (const auto& why = fixtures::unavailable_reason(Device::kCuda); !why.empty())
    GTEST_SKIP() << why;
  for (const Pass pass : {Pass::kForward, Pass::kDgrad, Pass::kWgrad}) {
    const auto op = make_op("conv2d", pass, kConvolution);
    const auto implementation = checked_implementation(*op, Backend::kCudnn, Precision::kFp32);
    EXPECT_NE(implementation.find("FMA_MATH"), std::string::npos)
        << name(pass) << ' ' << implementation;
  }
}

TEST(CudaNative, AgreesWithFloat64) {
  if (const auto& why = fixtures::unavailable_reason(Device::kCuda); !why.empty())
    GTEST_SKIP() << why;
  for (const Case& one : op_cases()) {
    const auto op = make_op(one);
    for (const auto precision : {Precision::kFp32, Precision::kBf16}) {
      const Tensors inputs =
          converted(op->inputs(7), scalar_type(precision), fixtures::torch_device(Device::kCuda));
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
