#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/full.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include "models/optimizers.h"
#include "ops/kernels/fused_update.h"
#include "ops/kernels/sampled_softmax.h"
#include "ops/profiler/record.h"
#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

/// The call, and the row that it is seen as; "" for none.
struct Recognition {
  const char* name;
  at::Tensor (*call)(const at::Tensor& x);  ///< x [6, 5]
  const char* type;
  Pass pass;
  const char* fields;
};

class Recognised : public testing::TestWithParam<Recognition> {};

INSTANTIATE_TEST_SUITE_P(
    Calls, Recognised,
    testing::Values(
        Recognition{"relu", [](const at::Tensor& x) { return at::relu(x); }, "relu", kForward,
                    R"({"sizes":[6,5]})"},
        Recognition{"relu_", [](const at::Tensor& x) { return x.relu_(); }, "relu", kForward,
                    R"({"sizes":[6,5]})"},
        Recognition{"clamp_min", [](const at::Tensor& x) { return x.clamp_min(0); }, "relu",
                    kForward, R"({"sizes":[6,5]})"},
        Recognition{"clamp_min_of_one", [](const at::Tensor& x) { return x.clamp_min(1); }, "",
                    kForward, ""},
        Recognition{"hardtanh", [](const at::Tensor& x) { return at::hardtanh(x, 0, 20); },
                    "clipped_relu", kForward, R"({"sizes":[6,5]})"},
        Recognition{"hardtanh_of_one", [](const at::Tensor& x) { return at::hardtanh(x, -1, 1); },
                    "", kForward, ""},
        Recognition{"sigmoid", [](const at::Tensor& x) { return at::sigmoid(x); }, "sigmoid",
                    kForward, R"({"sizes":[6,5]})"},
        Recognition{"add", [](const at::Tensor& x) { return x + x; }, "add", kForward,
                    R"({"sizes":[6,5]})"},
        Recognition{"add_number", [](const at::Tensor& x) { return x + 2; }, "add", kForward,
                    R"({"sizes":[6,5],"number":true})"},
        Recognition{"add_row", [](const at::Tensor& x) { return x + x[0]; }, "add", kForward,
                    R"({"sizes":[6,5],"other":[5]})"},
        Recognition{"add_expanded",
                    [](const at::Tensor& x) {
                      return x + x.slice(1, 0, 1).expand({6, 5});
                    },
                    "add", kForward, R"({"sizes":[6,5],"other":[6,1]})"},
        Recognition{"add_in_place", [](const at::Tensor& x) { return x.add_(at::zeros({5})); },
                    "add", kForward, R"({"sizes":[6,5],"other":[5],"in_place":true})"},
        Recognition{"mul_scalar", [](const at::Tensor& x) { return x * x[0][0]; }, "mul", kForward,
                    R"({"sizes":[6,5],"other":[1]})"},
        Recognition{"rsub", [](const at::Tensor& x) { return at::rsub(x, 1); }, "sub", kForward,
                    R"({"sizes":[6,5],"number":true})"},
        Recognition{"add_integers",
                    [](const at::Tensor& x) { return at::zeros_like(x, at::kLong).add(1); }, "",
                    kForward, ""},
        Recognition{"square", [](const at::Tensor& x) { return x.square(); }, "square", kForward,
                    R"({"sizes":[6,5]})"},
        Recognition{"pow", [](const at::Tensor& x) { return x.pow(2); }, "square", kForward,
                    R"({"sizes":[6,5]})"},
        Recognition{"pow_of_three", [](const at::Tensor& x) { return x.pow(3); }, "", kForward, ""},
        Recognition{"huber_loss",
                    [](const at::Tensor& x) { return at::huber_loss(x, x, at::Reduction::Sum, 1); },
                    "huber_loss", kForward, R"({"sizes":[6,5]})"},
        Recognition{"bmm",
                    [](const at::Tensor& x) {
                      return at::bmm(x.view({2, 3, 5}), x.view({2, 3, 5}).transpose(1, 2));
                    },
                    "batched_matmul", kForward,
                    R"({"batch":2,"m":3,"n":3,"k":5,"transpose_b":true})"},
        Recognition{"baddbmm",
                    [](const at::Tensor& x) {
                      const at::Tensor y = x.view({2, 3, 5});
                      return at::baddbmm(y.slice(2, 0, 3), y, y.transpose(1, 2));
                    },
                    "batched_matmul", kForward,
                    R"({"batch":2,"m":3,"n":3,"k":5,"transpose_b":true,"addend":true})"},
        Recognition{"sum", [](const at::Tensor& x) { return x.sum(); }, "sum", kForward,
                    R"({"sizes":[6,5]})"},
        Recognition{"sum_of_rows", [](const at::Tensor& x) { return x.sum(-1, true); }, "sum",
                    kForward, R"({"sizes":[6,5],"dims":[1],"keepdim":true})"},
        Recognition{"mean", [](const at::Tensor& x) { return x.mean(); }, "sum", kForward,
                    R"({"sizes":[6,5],"mean":true})"},
        Recognition{"argmax", [](const at::Tensor& x) { return x.argmax(1); }, "arg_max", kForward,
                    R"({"sizes":[6,5],"dim":1})"},
        Recognition{"argmax_of_all", [](const at::Tensor& x) { return x.argmax(); }, "arg_max",
                    kForward, R"({"sizes":[30],"dim":0})"},
        Recognition{"normal_", [](const at::Tensor& x) { return x.normal_(); }, "normal", kForward,
                    R"({"sizes":[6,5]})"},
        Recognition{"randn_like", [](const at::Tensor& x) { return at::randn_like(x); }, "normal",
                    kForward, R"({"sizes":[6,5]})"},
        Recognition{"randn",
                    [](const at::Tensor&) {
                      return at::randn({6, 5});
                    },
                    "normal", kForward, R"({"sizes":[6,5]})"},
        Recognition{"uniform_", [](const at::Tensor& x) { return x.uniform_(); }, "uniform",
                    kForward, R"({"sizes":[6,5]})"},
        Recognition{"dropout", [](const at::Tensor& x) { return at::dropout(x, 0.5, true); },
                    "dropout", kForward, R"({"sizes":[6,5],"p":0.5})"},
        Recognition{"dropout_when_read",
                    [](const at::Tensor& x) { return at::dropout(x, 0.5, false); }, "", kForward,
                    ""},
        Recognition{"log_uniform", [](const at::Tensor&) { return draw_log_uniform(2, 3, 9).ids; },
                    "log_uniform", kForward, R"({"positions":2,"candidates":3,"classes":9})"},
        Recognition{"cat",
                    [](const at::Tensor& x) {
                      return at::cat({x, x}, -1);
                    },
                    "concat", kForward, R"({"tensors":[[6,5],[6,5]],"dim":1})"},
        Recognition{"stack",
                    [](const at::Tensor& x) {
                      return at::stack({x, x}, -1);
                    },
                    "concat", kForward, R"({"tensors":[[6,5],[6,5]],"dim":2,"stack":true})"},
        Recognition{"contiguous", [](const at::Tensor& x) { return x.t().contiguous(); }, "copy",
                    kForward, R"({"sizes":[5,6],"transposed":true})"},
        Recognition{"clone", [](const at::Tensor& x) { return x.clone(); }, "copy", kForward,
                    R"({"sizes":[6,5]})"},
        Recognition{"to_integers", [](const at::Tensor& x) { return x.to(at::kLong); }, "",
                    kForward, ""},
        Recognition{"zero_", [](const at::Tensor& x) { return x.zero_(); }, "fill", kForward,
                    R"({"sizes":[6,5]})"},
        Recognition{"zeros", [](const at::Tensor&) { return at::zeros({6, 5}); }, "fill", kForward,
                    R"({"sizes":[6,5]})"},
        Recognition{"zeros_of_integers",
                    [](const at::Tensor&) { return at::zeros({6, 5}, at::kLong); }, "", kForward,
                    ""},
        Recognition{
            "full",
            [](const at::Tensor&) {
              return at::full({6, 5}, 2.0);
            },
            "fill", kForward, R"({"sizes":[6,5]})"},
        Recognition{"new_zeros", [](const at::Tensor& x) { return x.new_zeros({6, 5}); }, "fill",
                    kForward, R"({"sizes":[6,5]})"},
        Recognition{"pad", [](const at::Tensor& x) { return at::constant_pad_nd(x, {1, 2}, 0); },
                    "pad", kForward, R"({"sizes":[6,5],"padding":[1,2]})"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST_P(Recognised, CallsAreTheirRow) {
  const at::Tensor x = at::randn({6, 5});
  at::Tensor result;
  const auto rows = record([&] { result = GetParam().call(x); }, {});
  if (GetParam().type[0] == '\0') {
    EXPECT_TRUE(rows.empty()) << rows[0].op.fields;
    return;
  }
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.back().type->name, GetParam().type);
  EXPECT_EQ(rows.back().op.pass, GetParam().pass);
  EXPECT_EQ(rows.back().op.fields.dump(), GetParam().fields);
  const auto op = make_op(rows.back().type->name, rows.back().op.pass, rows.back().op.fields);
  const at::Tensor again = op->call(op->inputs(1))()[0];
  if (result.dim() > 0) {
    EXPECT_EQ(again.numel(), result.numel());
  }
}

TEST(Recognise, TellsBackwardPasses) {
  for (const auto& [type, call] :
       std::vector<std::pair<std::string, at::Tensor (*)(const at::Tensor&)>>{
           {"relu", [](const at::Tensor& x) { return at::relu(x); }},
           {"clipped_relu", [](const at::Tensor& x) { return at::hardtanh(x, 0, 20); }},
           {"sigmoid", [](const at::Tensor& x) { return at::sigmoid(x); }},
           {"tanh", [](const at::Tensor& x) { return at::tanh(x); }},
           {"huber_loss", [](const at::Tensor& x) {
              return at::huber_loss(x, at::zeros_like(x), at::Reduction::Sum, 1);
            }}}) {
    const at::Tensor y = call(at::randn({6, 5}).requires_grad_());
    const auto rows = record([&] { y.sum().backward(); }, {});
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const RecordedOp& one) { return one.op.pass == kBackward; });
    ASSERT_NE(row, rows.end()) << type;
    EXPECT_EQ(row->type->name, type);
    EXPECT_EQ(row->op.fields.dump(), R"({"sizes":[6,5]})");
  }
}

TEST(Recognise, ReadsTheParametersOfUpdates) {
  const std::vector<c10::IValue> listed{std::vector<at::Tensor>{at::zeros({3, 5}), at::zeros({})}};
  const c10::ArrayRef<const c10::IValue> arguments(listed.data(), listed.size());
  for (const char* type : {"sgd", "momentum", "adam", "adagrad", "rmsprop", "clip_norm"}) {
    const std::string scope = "op:" + std::string(type);
    const auto rows = op_type(type)->recognise({scope, arguments});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].pass, kUpdate);
    EXPECT_EQ(rows[0].fields.dump(), R"({"tensors":[[3,5],[1]]})");
    EXPECT_TRUE(op_type(type)->recognise({"op:other", arguments}).empty());
    EXPECT_TRUE(op_type(type)->recognise({scope, {}}).empty());
  }
}

TEST(Recognise, SeesTheUpdatesOfModels) {
  torch::nn::Linear net(3, 2);
  for (const auto& parameter : net->parameters())
    parameter.mutable_grad() = at::ones_like(parameter);
  auto sgd = models::sgd(0.1);
  const auto rows = record(
      [&] {
        models::clip_norm(*net, 1);
        sgd.step(*net);
        const at::Tensor p = at::randn({7});
        fused_update(RmsProp{.rate = 1e-3, .decay = 0.9, .epsilon = 0.1},
                     {{p}, {p.clone()}, {p.square()}});
      },
      {});
  std::vector<std::string> updates;
  for (const auto& row : rows)
    if (row.op.pass == kUpdate)
      updates.push_back(std::string(row.type->name) + row.op.fields.dump());
  EXPECT_EQ(updates, (std::vector<std::string>{R"(clip_norm{"tensors":[[2,3],[2]]})",
                                               R"(sgd{"tensors":[[2,3],[2]]})",
                                               R"(rmsprop{"tensors":[[7]]})"}));
}

}  // namespace
}  // namespace fathom::ops
