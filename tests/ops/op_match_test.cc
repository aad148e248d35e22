#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/optimizers.h"
#include "ops/core/fields.h"
#include "ops/core/op.h"
#include "ops/kernels/fused_update.h"
#include "ops/kernels/recurrent/clipped_relu_rnn.h"
#include "ops/profiler/match.h"
#include "ops/profiler/observe.h"
#include "ops/profiler/record.h"
#include "ops/types/table.h"
#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

/// An observer that collects the names of LibTorch's ops that match a type, nested ones included.
class MatchedNames final : public Observer {
 public:
  std::set<std::string> names;

  bool start(const Event& event) override {
    if (!matcher_.match(event).ops.empty()) names.insert(std::string(event.call.name));
    return false;
  }

 private:
  OpMatcher matcher_;
};

/// Calls LibTorch ops that match a type but that no type calls itself.
void call_other_spellings() {
  const at::Tensor x = at::rand({6, 5}) + 1;
  const at::Tensor y = x.view({2, 3, 5});
  at::mv(x, x[0]);
  at::addmv(x.select(1, 0), x, x[0]);
  at::dot(x[0], x[0]);
  at::zeros({6, 6}).addmm_(x, x.t());
  at::_addmm_activation(x.select(1, 0), x, x.t());
  at::zeros({2, 3, 3}).baddbmm_(y, y.transpose(1, 2));
  for (const char* name : {"relu_", "sigmoid_", "tanh_", "exp_", "sqrt_", "square_", "neg_"}) {
    c10::Stack stack{x.clone()};
    c10::Dispatcher::singleton()
        .findSchemaOrThrow((std::string("aten::") + name).c_str(), "")
        .callBoxed(&stack);
  }
  at::clamp_min(x, 0);
  x.clone().clamp_min_(0);
  at::hardtanh(x, 0, kClip);
  at::Tensor copy = x.clone();
  at::hardtanh_(copy, 0, kClip);
  at::gelu_(copy);
  at::silu_(copy);
  at::rms_norm(x, {x.size(1)}, x[0]);
  x.clone().sub_(x);
  x.clone().mul_(x);
  x.clone().div_(x);
  at::rsub(x, 1);
  x.pow(2);
  x.clone().pow_(2);
  at::concat({x, x});
  at::pad(x, {1, 1});
  x.t().contiguous();
  x.clone().copy_(x);
  at::copy(x, x);
  at::_to_copy(x);
  x.clone().zero_();
  at::zeros({3});
  at::zeros_like(x);
  at::ones({3});
  at::ones_like(x);
  at::full({3}, 2.0);
  x.new_zeros({3});
  at::randn({3});
  at::randn_like(x);
  at::dropout_(copy, 0.5, true);
  at::native_dropout(x, 0.5, true);
  at::native_dropout_backward(x, x > 0, 2.0);
  at::_softmax(x, 1, false);
  at::max_pool2d(y.unsqueeze(0), {2, 2});
  at::_adaptive_avg_pool2d(y.unsqueeze(0), {2, 2});
  at::convolution(y.unsqueeze(0), at::ones({2, 2, 1, 1}), {}, {1, 1}, {0, 0}, {1, 1}, false, {0, 0},
                  1);
  const at::Tensor ids = at::zeros({4}, at::kLong);
  at::index(x, {ids});
  at::index_put(x, {ids}, x[0]);
  at::index_add(x, 0, ids, x.index_select(0, ids));
  at::embedding_dense_backward(at::ones({4, 3}), ids, 5, -1, false);
  at::embedding_sparse_backward(at::ones({4, 3}), ids, 5, -1, false);
  const at::Tensor scores = at::randn({4, 1, 3}).log_softmax(2);
  at::ctc_loss(scores, at::ones({1, 2}, at::kLong), std::vector<int64_t>{4},
               std::vector<int64_t>{2});
}

/// Ops that only a GPU or oneDNN runs.
bool runs_elsewhere(std::string_view name) {
  return name.find("cudnn") != std::string_view::npos ||
         name.find("mkldnn") != std::string_view::npos ||
         name.starts_with("_scaled_dot_product_efficient") ||
         (name.starts_with("_scaled_dot_product_flash") &&
          name.find("_for_cpu") == std::string_view::npos);
}

TEST(Match, KnowsEveryNameThatATypeClaims) {
  MatchedNames matched;
  observe(
      matched,
      [] {
        call_other_spellings();
        for (const Case& one : op_cases()) {
          const auto op = make_op(one);
          op->call(op->inputs(3))();
        }
      },
      /*arguments=*/true);
  for (const auto& type : op_types()) {
    for (const auto name : type.aten) {
      if (runs_elsewhere(name)) continue;
      EXPECT_TRUE(matched.names.contains("aten::" + std::string(name)))
          << type.name << " claims " << name << ", but its match() does not match it";
    }
  }
}

TEST(Match, ClaimsOnlyNamesOfLibTorchsOps) {
  std::set<std::string> known;
  for (const auto& op : c10::Dispatcher::singleton().getAllOpNames()) known.insert(op.name);
  for (const auto& type : op_types()) {
    for (const auto& list : {type.aten, type.aten_parts}) {
      for (const auto name : list)
        EXPECT_TRUE(known.contains("aten::" + std::string(name))) << name;
    }
  }
}

/// The ops of a call with these arguments, which only a GPU can run, as JSON.
std::string matched_text(const char* name, const std::vector<c10::IValue>& arguments) {
  const c10::ArrayRef<const c10::IValue> listed(arguments.data(), arguments.size());
  std::string text;
  for (const auto& op : match(claim_of(name), {name, listed})) {
    text += std::string(ops::name(op.pass)) + json_text(op.fields);
  }
  return text;
}

TEST(Match, KnowsTheCallsOfCudnn) {
  const at::Tensor x = at::zeros({2, 3, 5, 7});
  const at::Tensor weight = at::ones({3});
  EXPECT_EQ(
      matched_text("aten::cudnn_batch_norm", {x, weight, weight, weight, weight, true, 0.1, 1e-5}),
      R"(forward{"sizes":[2,3,5,7]})");
  EXPECT_EQ(matched_text("aten::cudnn_batch_norm_backward",
                         {x, x, weight, weight, weight, weight, weight, 1e-5, weight}),
            R"(backward{"sizes":[2,3,5,7]})");
  const std::vector<int64_t> frames{13, 13, 9};
  const std::vector<int64_t> counts{4, 2, 3};
  const std::string losses = R"(forward{"frames":13,"n":3,"classes":5,"labels":4})";
  const at::Tensor scores = at::zeros({13, 3, 5});
  const at::Tensor labels = at::zeros({9}, at::kInt);
  EXPECT_EQ(matched_text("aten::_cudnn_ctc_loss", {scores, labels, frames, counts, 0, false, true}),
            losses);
  EXPECT_EQ(matched_text("op:ctc_loss", {scores, labels, at::ones({3}), at::tensor(counts)}),
            losses);
}

TEST(Match, KnowsTheKernelsOfAttentionOnAGpu) {
  const at::Tensor q = at::zeros({2, 3, 5, 4});
  const at::Tensor k = at::zeros({2, 3, 7, 4});
  const at::Tensor mask = at::zeros({2, 1, 1, 7}).expand({2, 3, 5, 7});
  const c10::IValue none;
  const std::string fields = R"({"batch":2,"heads":3,"queries":5,"keys":7,"width":4)";
  const std::string causal = fields + R"(,"causal":true})";
  const std::string masked = fields + R"(,"mask":[2,1,1,7]})";
  const std::string name = "aten::_scaled_dot_product_";
  const auto text = [&](const char* kernel, const std::vector<c10::IValue>& arguments) {
    return matched_text((name + kernel).c_str(), arguments);
  };
  EXPECT_EQ(text("flash_attention", {q, k, k, 0.1, true, false, none}), "forward" + causal);
  EXPECT_EQ(text("efficient_attention", {q, k, k, mask, true, 0.0, false, none}),
            "forward" + masked);
  EXPECT_EQ(text("cudnn_attention", {q, k, k, none, true, 0.0, true, false, none}),
            "forward" + causal);
  EXPECT_EQ(text("flash_attention_backward",
                 {q, q, k, k, q, q, none, none, 5, 7, 0.1, true, none, none, none}),
            "backward" + causal);
  EXPECT_EQ(text("efficient_attention_backward",
                 {q, q, k, k, mask, q, q, none, none, 0.0, none, false, none}),
            "backward" + masked);
  EXPECT_EQ(text("cudnn_attention_backward",
                 {q, q, k, k, q, q, none, none, mask, none, none, 5, 7, 0.0, false, none}),
            "backward" + masked);
}

TEST(Match, KnowsTheMaskOfAttentionInBothPasses) {
  const at::Tensor q = at::randn({2, 3, 5, 4}).requires_grad_();
  const at::Tensor mask = at::ones({2, 1, 1, 5}, at::kBool);
  const auto rows =
      record([&] { at::scaled_dot_product_attention(q, q, q, mask).sum().backward(); }, {});
  std::vector<Pass> passes;
  for (const auto& row : rows) {
    if (row.type->name != "scaled_dot_product_attention") continue;
    passes.push_back(row.op.pass);
    EXPECT_EQ(json_text(row.op.fields),
              R"({"batch":2,"heads":3,"queries":5,"keys":5,"width":4,"mask":[2,1,1,5]})");
  }
  EXPECT_EQ(passes, (std::vector<Pass>{kForward, kBackward}));
}

/// Arguments of LibTorch's cuDNN LSTM: {x [5, 3, 4], ...}, two layers of width 6.
TEST(Match, KnowsTheLstmOfCudnn) {
  const at::Tensor x = at::zeros({5, 3, 4});
  const std::vector<at::Tensor> weights(8, x);
  const std::vector<c10::IValue> forward{x,
                                         weights,
                                         4,
                                         x,
                                         x,
                                         x,
                                         2,
                                         6,
                                         0,
                                         2,
                                         false,
                                         0.0,
                                         true,
                                         false,
                                         std::vector<int64_t>{},
                                         c10::IValue()};
  const c10::ArrayRef<const c10::IValue> arguments(forward.data(), forward.size());
  const auto ops = match(claim_of("aten::_cudnn_rnn"), {"aten::_cudnn_rnn", arguments});
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(json_text(ops[0].fields), R"({"steps":5,"n":3,"inputs":4,"width":6,"bias":true})");
  EXPECT_EQ(json_text(ops[1].fields), R"({"steps":5,"n":3,"inputs":6,"width":6,"bias":true})");
  std::vector<c10::IValue> backward(forward.begin(), forward.begin() + 6);
  for (int i = 0; i < 4; ++i) backward.emplace_back(x);
  backward.insert(backward.end(), forward.begin() + 6, forward.end());
  const c10::ArrayRef<const c10::IValue> more(backward.data(), backward.size());
  const auto gradients =
      match(claim_of("aten::_cudnn_rnn_backward"), {"aten::_cudnn_rnn_backward", more});
  ASSERT_EQ(gradients.size(), 2U);
  EXPECT_EQ(gradients[0].pass, kBackward);
  EXPECT_EQ(gradients[0].fields, ops[0].fields);
}

TEST(Match, TellsBackwardPasses) {
  for (const auto& [type, call] :
       std::vector<std::pair<std::string, at::Tensor (*)(const at::Tensor&)>>{
           {"relu", [](const at::Tensor& x) { return at::relu(x); }},
           {"clipped_relu", [](const at::Tensor& x) { return at::hardtanh(x, 0, 20); }},
           {"sigmoid", [](const at::Tensor& x) { return at::sigmoid(x); }},
           {"tanh", [](const at::Tensor& x) { return at::tanh(x); }},
           {"gelu", [](const at::Tensor& x) { return at::gelu(x); }},
           {"log_softmax", [](const at::Tensor& x) { return at::log_softmax(x, 1); }},
           {"layer_norm",
            [](const at::Tensor&
                   x) { return at::layer_norm(x, {5}, at::ones({5}), at::zeros({5})); }},
           {"huber_loss",
            [](const at::Tensor&
                   x) { return at::huber_loss(x, at::zeros_like(x), at::Reduction::Sum, 1); }},
           {"smooth_l1_loss", [](const at::Tensor& x) {
              return at::smooth_l1_loss(x, at::zeros_like(x), at::Reduction::Sum, 0.5);
            }}}) {
    const at::Tensor y = call(at::randn({6, 5}).requires_grad_());
    const auto rows = record([&] { y.sum().backward(); }, {});
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const RecordedOp& one) { return one.op.pass == kBackward; });
    ASSERT_NE(row, rows.end()) << type;
    EXPECT_EQ(row->type->name, type);
    EXPECT_EQ(json_text(row->op.fields), R"({"sizes":[6,5]})");
  }
}

TEST(Match, ReadsTheParametersOfUpdates) {
  const std::vector<c10::IValue> listed{std::vector<at::Tensor>{at::zeros({3, 5}), at::zeros({})}};
  const c10::ArrayRef<const c10::IValue> arguments(listed.data(), listed.size());
  for (const char* type :
       {"sgd", "momentum", "nesterov", "adam", "adamw", "adagrad", "rmsprop", "clip_norm"}) {
    const std::string scope = "op:" + std::string(type);
    const auto rows = match(claim_of(scope), {scope, arguments});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].pass, kUpdate);
    EXPECT_EQ(json_text(rows[0].fields), R"({"tensors":[[3,5],[1]]})");
    EXPECT_TRUE(match(claim_of("op:other"), {"op:other", arguments}).empty());
    EXPECT_TRUE(match(claim_of(scope), {scope, {}}).empty());
  }
}

/// LibTorch's call, and the scope of the one on a GPU.
TEST(Match, KnowsDrawsOfOneClassFromEachRow) {
  const auto matched = [](const std::string& name, const std::vector<c10::IValue>& listed) {
    std::string text;
    const c10::ArrayRef<const c10::IValue> arguments(listed.data(), listed.size());
    for (const auto& op : match(claim_of(name), {name, arguments})) text += json_text(op.fields);
    return text;
  };
  const at::Tensor x = at::ones({6, 5});
  const c10::IValue none;
  EXPECT_EQ(matched("op:multinomial", {x}), R"({"rows":6,"classes":5})");
  EXPECT_EQ(matched("aten::multinomial", {x, 1, false, none}), R"({"rows":6,"classes":5})");
  EXPECT_EQ(matched("aten::multinomial", {x, 2, false, none}), "");
  EXPECT_EQ(matched("aten::multinomial", {x.to(at::kLong), 1, false, none}), "");
}

TEST(Match, SeesTheUpdatesOfModels) {
  torch::nn::Linear net(3, 2);
  for (const auto& parameter : net->parameters())
    parameter.mutable_grad() = at::ones_like(parameter);
  auto sgd = models::sgd(0.1);
  const auto rows = record(
      [&] {
        models::clip_norm(*net, 1);
        sgd.step(*net);
        const at::Tensor p = at::randn({7});
        fused_update(RmsProp{.rate = 1e-3, .alpha = 0.9, .epsilon = 0.1},
                     {{p}, {p.clone()}, {p.square()}});
      },
      {});
  std::vector<std::string> updates;
  for (const auto& row : rows)
    if (row.op.pass == kUpdate)
      updates.push_back(std::string(row.type->name) + json_text(row.op.fields));
  EXPECT_EQ(updates, (std::vector<std::string>{R"(clip_norm{"tensors":[[2,3],[2]]})",
                                               R"(sgd{"tensors":[[2,3],[2]]})",
                                               R"(rmsprop{"tensors":[[7]]})"}));
}

TEST(Claims, RefuseTwoTypesOfOneCall) {
  std::vector<OpType> types{*op_type("matmul"), *op_type("softmax")};
  EXPECT_NO_THROW(claims_of(types));
  types.back().aten_parts.emplace_back("mm");
  try {
    claims_of(types);
    FAIL() << "accepted";
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(),
                 R"("aten::mm" belongs to the op types matmul and softmax, expected one)");
  }
}

}  // namespace
}  // namespace fathom::ops
