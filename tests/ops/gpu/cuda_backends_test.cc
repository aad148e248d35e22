#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <stdexcept>

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

bool refuses(const std::string& words) {
  return words.find("has no") != std::string::npos ||
         words.find("NOT_SUPPORTED") != std::string::npos;
}

/// Runs the op, checks its result and returns the library's name of the implementation.
std::string checked_words(const Op& op, Backend backend, Precision precision) {
  const auto type = precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
  // Not in inference mode, in which a backward pass has no gradients.
  const Tensors inputs = converted(op.inputs(7), type, fixtures::torch_device(Device::kCuda));
  std::string words;
  const Tensors outputs = vendor_results(op, backend, precision, inputs, &words);
  fixtures::synchronize(Device::kCuda);
  op.check(inputs, outputs, precision);
  return words;
}

/// How often a library ran an op type in a pass and precision, and why it refused to.
struct Outcome {
  int runs = 0;
  std::string refusal;
};

// One test, because a process needs seconds to initialise a GPU.
TEST(CudaVendors, AgreeWithFloat64AndRunWhatIsListed) {
  if (const auto& why = fixtures::unavailable_reason(Device::kCuda); !why.empty())
    GTEST_SKIP() << why;
  std::map<std::string, Outcome> outcomes;
  for (const Case& one : op_cases()) {
    const auto op = make_op(one);
    const auto backends = op->backends();
    for (const Backend backend : kCudaVendors) {
      if (std::find(backends.begin(), backends.end(), backend) == backends.end()) continue;
      for (const auto precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
        const std::string rows = std::string(one.type) + ' ' + std::string(name(one.pass)) + ' ' +
                                 std::string(name(precision)) + ' ' + std::string(name(backend));
        SCOPED_TRACE(case_name(one) + ' ' + rows);
        Outcome& outcome = outcomes[rows];
        try {
          EXPECT_NE(checked_words(*op, backend, precision), "");
          ++outcome.runs;
        } catch (const std::exception& error) {  // c10::Error, too, so that other cases run
          outcome.refusal = fixtures::first_line(error.what());
          if (precision != Precision::kBf16 || !refuses(outcome.refusal))
            ADD_FAILURE() << outcome.refusal;
        }
      }
    }
  }
  for (const auto& [rows, outcome] : outcomes) {
    EXPECT_GT(outcome.runs, 0) << rows << " has rows in tests/names.txt, but not on this GPU: "
                               << outcome.refusal;
  }
}

// Prints what the library chose, because the algorithms differ between GPUs and versions.
TEST(CudaVendors, HaveFmaForFp32ConvolutionsAndBf16ForTheOthers) {
  if (const auto& why = fixtures::unavailable_reason(Device::kCuda); !why.empty())
    GTEST_SKIP() << why;
  constexpr std::string_view kConvolution =
      R"({"n": 8, "c": 64, "k": 64, "image": [56, 56], "kernel": [3, 3], "padding": [1, 1], "bias": true})";
  constexpr std::string_view kLstm =
      R"({"steps": 40, "n": 64, "inputs": 256, "width": 256, "bias": true})";
  constexpr std::string_view kNorm =
      R"({"sizes": [64, 96, 27, 27], "size": 5, "alpha": 1e-4, "beta": 0.75, "bias": 2})";
  constexpr std::string_view kCtc = R"({"frames": 50, "n": 4, "classes": 62, "labels": 7})";
  for (const auto precision : {Precision::kFp32, Precision::kTf32, Precision::kBf16}) {
    for (const Case& one :
         {Case{"conv2d", Pass::kForward, kConvolution}, Case{"conv2d", Pass::kDgrad, kConvolution},
          Case{"conv2d", Pass::kWgrad, kConvolution}, Case{"lstm", Pass::kForward, kLstm},
          Case{"lstm", Pass::kBackward, kLstm}, Case{"local_response_norm", Pass::kForward, kNorm},
          Case{"local_response_norm", Pass::kBackward, kNorm},
          Case{"ctc_loss", Pass::kBackward, kCtc}}) {  // with cudnnOpTensor
      std::string words;
      try {
        words = checked_words(*make_op(one), Backend::kCudnn, precision);
      } catch (const std::exception& error) {
        words = fixtures::first_line(error.what());
        ADD_FAILURE() << words;
      }
      std::cout << "cudnn " << one.type << ' ' << name(one.pass) << ' ' << name(precision) << ": "
                << words << '\n';
      if (one.type == "conv2d" && precision == Precision::kFp32) {
        EXPECT_NE(words.find("fma math"), std::string::npos) << words;
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
