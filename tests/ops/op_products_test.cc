// The FLOPs of composites are those of the products that LibTorch runs for them.
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

/// FLOPs of LibTorch's products on this thread. They call no other product of LibTorch.
double executed = 0;

double extent(const c10::IValue& tensor, int64_t dim) {
  return static_cast<double>(tensor.toTensor().size(dim));
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  const std::string_view name(function.name());
  const auto in = function.inputs();
  const bool adds = name.find("add") != std::string_view::npos;
  const std::size_t a = adds ? 1 : 0;
  if (name == "aten::mm" || name.starts_with("aten::addmm")) {
    executed += 2 * extent(in[a], 0) * extent(in[a], 1) * extent(in[a + 1], 1);
  } else if (name == "aten::bmm" || name.starts_with("aten::baddbmm")) {
    executed += 2 * extent(in[a], 0) * extent(in[a], 1) * extent(in[a], 2) * extent(in[a + 1], 2);
  } else if (name == "aten::mv" || name.starts_with("aten::addmv")) {
    executed += 2 * extent(in[a], 0) * extent(in[a], 1);
  }
  return nullptr;
}

double executed_flops(const Call& call) {
  executed = 0;
  struct Callbacks {
    at::CallbackHandle handle;
    ~Callbacks() { at::removeCallback(handle); }
  } const callbacks{at::addThreadLocalCallback(
      at::RecordFunctionCallback(on_start).needsInputs(true).scopes({at::RecordScope::FUNCTION}))};
  call();
  return executed;
}

/// Matrix types whose call on float64 is composed of products, with what it lacks of the FLOPs.
const std::map<std::string_view, std::string_view> kComposed{
    {"matmul", ""},          {"batched_matmul", ""},   {"lstm", ""},
    {"lstm_cell", ""},       {"lstm_recurrence", ""},  {"gru", ""},
    {"gru_cell", ""},        {"clipped_relu_rnn", ""}, {"additive_attention", ""},
    {"sampled_softmax", ""},
};

TEST(OpProducts, AreTheFlopsOfComposites) {
  for (const Case& one : op_cases()) {
    if (!kComposed.contains(one.type)) continue;
    const auto op = make_op(one);
    const Tensors in = converted(op->inputs(1), at::kDouble, at::kCPU);
    const double flops = op->cost(fixtures::Precision::kFp32).flops;
    EXPECT_EQ(executed_flops(op->call(in)), flops) << case_name(one);
    if (const Call native = op->native(in); native != nullptr) {
      EXPECT_EQ(executed_flops(native), flops) << case_name(one) << " native";
    }
  }
}

}  // namespace
}  // namespace fathom::ops
