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

/// Matrix types whose calls on float64 are composed of products, and the share of their FLOPs that
/// these are.
const std::map<std::string_view, double> kComposed{
    {"matmul", 1},
    {"batched_matmul", 1},
    {"lstm", 1},
    {"lstm_cell", 1},
    {"lstm_recurrence", 1},
    {"gru", 1},
    {"gru_cell", 1},
    {"clipped_relu_rnn", 1},
    {"additive_attention", 1},
    {"sampled_softmax", 5.0 / 6},  // of 5 candidates; the label's logits are products of elements
};

/// Autograd composes a gradient to the state before the first step, which is 0 and needs none.
bool has_more(const Case& one) { return one.type == "lstm_recurrence" && one.pass == kBackward; }

TEST(OpProducts, AreTheFlopsOfComposites) {
  for (const Case& one : op_cases()) {
    const auto share = kComposed.find(one.type);
    if (share == kComposed.end()) continue;
    const auto op = make_op(one);
    const Tensors in = converted(op->inputs(1), at::kDouble, at::kCPU);
    const double flops = share->second * op->cost(fixtures::Precision::kFp32).flops;
    if (!has_more(one)) {
      EXPECT_DOUBLE_EQ(executed_flops(op->call(in)), flops) << case_name(one);
    }
    const Call native = op->native(in);
    if (native == nullptr) continue;
    const double found = executed_flops(native);
    if (found == 0) continue;  // all products are in this project's kernel
    EXPECT_DOUBLE_EQ(found, flops) << case_name(one) << " native";
  }
}

}  // namespace
}  // namespace fathom::ops
