#include <ATen/Functions.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include <set>

#include "models/optimizers.h"
#include "ops/kernels/clipped_relu_rnn.h"
#include "ops/kernels/fused_update.h"
#include "ops/kernels/sampled_softmax.h"
#include "ops/profiler/match.h"
#include "ops/profiler/record.h"
#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

/// The call, and the row that it is seen as; "" for none.
struct ExpectedMatch {
  const char* name;
  at::Tensor (*call)(const at::Tensor& x);  ///< x [6, 5]
  const char* type;
  Pass pass;
  const char* fields;
};

class MatchedCalls : public testing::TestWithParam<ExpectedMatch> {};

INSTANTIATE_TEST_SUITE_P(
    Calls, MatchedCalls,
    testing::Values(
        ExpectedMatch{"relu", [](const at::Tensor& x) { return at::relu(x); }, "relu", kForward,
                      R"({"sizes":[6,5]})"},
        ExpectedMatch{"relu_", [](const at::Tensor& x) { return x.relu_(); }, "relu", kForward,
                      R"({"sizes":[6,5]})"},
        ExpectedMatch{"clamp_min", [](const at::Tensor& x) { return x.clamp_min(0); }, "relu",
                      kForward, R"({"sizes":[6,5]})"},
        ExpectedMatch{"clamp_min_of_one", [](const at::Tensor& x) { return x.clamp_min(1); }, "",
                      kForward, ""},
        ExpectedMatch{"hardtanh", [](const at::Tensor& x) { return at::hardtanh(x, 0, 20); },
                      "clipped_relu", kForward, R"({"sizes":[6,5]})"},
        ExpectedMatch{"hardtanh_of_one", [](const at::Tensor& x) { return at::hardtanh(x, -1, 1); },
                      "", kForward, ""},
        ExpectedMatch{"sigmoid", [](const at::Tensor& x) { return at::sigmoid(x); }, "sigmoid",
                      kForward, R"({"sizes":[6,5]})"},
        ExpectedMatch{"add", [](const at::Tensor& x) { return x + x; }, "add", kForward,
                      R"({"sizes":[6,5]})"},
        ExpectedMatch{"add_number", [](const at::Tensor& x) { return x + 2; }, "add", kForward,
                      R"({"sizes":[6,5],"number":true})"},
        ExpectedMatch{"add_row", [](const at::Tensor& x) { return x + x[0]; }, "add", kForward,
                      R"({"sizes":[6,5],"other":[5]})"},
        ExpectedMatch{"add_expanded",
                      [](const at::Tensor& x) {
                        return x + x.slice(1, 0, 1).expand({6, 5});
                      },
                      "add", kForward, R"({"sizes":[6,5],"other":[6,1]})"},
        ExpectedMatch{"add_in_place", [](const at::Tensor& x) { return x.add_(at::zeros({5})); },
                      "add", kForward, R"({"sizes":[6,5],"other":[5],"in_place":true})"},
        ExpectedMatch{"mul_scalar", [](const at::Tensor& x) { return x * x[0][0]; }, "mul",
                      kForward, R"({"sizes":[6,5],"other":[1]})"},
        ExpectedMatch{"rsub", [](const at::Tensor& x) { return at::rsub(x, 1); }, "sub", kForward,
                      R"({"sizes":[6,5],"number":true})"},
        ExpectedMatch{"add_integers",
                      [](const at::Tensor& x) { return at::zeros_like(x, at::kLong).add(1); }, "",
                      kForward, ""},
        ExpectedMatch{"square", [](const at::Tensor& x) { return x.square(); }, "square", kForward,
                      R"({"sizes":[6,5]})"},
        ExpectedMatch{"pow", [](const at::Tensor& x) { return x.pow(2); }, "square", kForward,
                      R"({"sizes":[6,5]})"},
        ExpectedMatch{"pow_of_three", [](const at::Tensor& x) { return x.pow(3); }, "", kForward,
                      ""},
        ExpectedMatch{
            "huber_loss",
            [](const at::Tensor& x) { return at::huber_loss(x, x, at::Reduction::Sum, 1); },
            "huber_loss", kForward, R"({"sizes":[6,5]})"},
        ExpectedMatch{"bmm",
                      [](const at::Tensor& x) {
                        return at::bmm(x.view({2, 3, 5}), x.view({2, 3, 5}).transpose(1, 2));
                      },
                      "batched_matmul", kForward,
                      R"({"batch":2,"m":3,"n":3,"k":5,"transpose_b":true})"},
        ExpectedMatch{"baddbmm",
                      [](const at::Tensor& x) {
                        const at::Tensor y = x.view({2, 3, 5});
                        return at::baddbmm(y.slice(2, 0, 3), y, y.transpose(1, 2));
                      },
                      "batched_matmul", kForward,
                      R"({"batch":2,"m":3,"n":3,"k":5,"transpose_b":true,"addend":true})"},
        ExpectedMatch{"sum", [](const at::Tensor& x) { return x.sum(); }, "sum", kForward,
                      R"({"sizes":[6,5]})"},
        ExpectedMatch{"sum_of_rows", [](const at::Tensor& x) { return x.sum(-1, true); }, "sum",
                      kForward, R"({"sizes":[6,5],"dims":[1],"keepdim":true})"},
        ExpectedMatch{"mean", [](const at::Tensor& x) { return x.mean(); }, "sum", kForward,
                      R"({"sizes":[6,5],"mean":true})"},
        ExpectedMatch{"argmax", [](const at::Tensor& x) { return x.argmax(1); }, "arg_max",
                      kForward, R"({"sizes":[6,5],"dim":1})"},
        ExpectedMatch{"argmax_of_all", [](const at::Tensor& x) { return x.argmax(); }, "arg_max",
                      kForward, R"({"sizes":[30],"dim":0})"},
        ExpectedMatch{"normal_", [](const at::Tensor& x) { return x.normal_(); }, "normal",
                      kForward, R"({"sizes":[6,5]})"},
        ExpectedMatch{"randn_like", [](const at::Tensor& x) { return at::randn_like(x); }, "normal",
                      kForward, R"({"sizes":[6,5]})"},
        ExpectedMatch{"randn",
                      [](const at::Tensor&) {
                        return at::randn({6, 5});
                      },
                      "normal", kForward, R"({"sizes":[6,5]})"},
        ExpectedMatch{"uniform_", [](const at::Tensor& x) { return x.uniform_(); }, "uniform",
                      kForward, R"({"sizes":[6,5]})"},
        ExpectedMatch{"dropout", [](const at::Tensor& x) { return at::dropout(x, 0.5, true); },
                      "dropout", kForward, R"({"sizes":[6,5],"p":0.5})"},
        ExpectedMatch{"dropout_when_read",
                      [](const at::Tensor& x) { return at::dropout(x, 0.5, false); }, "", kForward,
                      ""},
        ExpectedMatch{"log_uniform",
                      [](const at::Tensor&) { return draw_log_uniform(2, 3, 9).ids; },
                      "log_uniform", kForward, R"({"positions":2,"candidates":3,"classes":9})"},
        ExpectedMatch{"cat",
                      [](const at::Tensor& x) {
                        return at::cat({x, x}, -1);
                      },
                      "concat", kForward, R"({"tensors":[[6,5],[6,5]],"dim":1})"},
        ExpectedMatch{"stack",
                      [](const at::Tensor& x) {
                        return at::stack({x, x}, -1);
                      },
                      "concat", kForward, R"({"tensors":[[6,5],[6,5]],"dim":2,"stack":true})"},
        ExpectedMatch{"contiguous", [](const at::Tensor& x) { return x.t().contiguous(); }, "copy",
                      kForward, R"({"sizes":[5,6],"transposed":true})"},
        ExpectedMatch{"clone", [](const at::Tensor& x) { return x.clone(); }, "copy", kForward,
                      R"({"sizes":[6,5]})"},
        ExpectedMatch{"to_integers", [](const at::Tensor& x) { return x.to(at::kLong); }, "",
                      kForward, ""},
        ExpectedMatch{"zero_", [](const at::Tensor& x) { return x.zero_(); }, "fill", kForward,
                      R"({"sizes":[6,5]})"},
        ExpectedMatch{"zeros", [](const at::Tensor&) { return at::zeros({6, 5}); }, "fill",
                      kForward, R"({"sizes":[6,5]})"},
        ExpectedMatch{"zeros_of_integers",
                      [](const at::Tensor&) { return at::zeros({6, 5}, at::kLong); }, "", kForward,
                      ""},
        ExpectedMatch{"full", [](const at::Tensor&) { return at::full({6, 5}, 2.0); }, "fill",
                      kForward, R"({"sizes":[6,5]})"},
        ExpectedMatch{"new_zeros", [](const at::Tensor& x) { return x.new_zeros({6, 5}); }, "fill",
                      kForward, R"({"sizes":[6,5]})"},
        ExpectedMatch{"pad", [](const at::Tensor& x) { return at::constant_pad_nd(x, {1, 2}, 0); },
                      "pad", kForward, R"({"sizes":[6,5],"padding":[1,2]})"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST_P(MatchedCalls, CallsAreTheirRow) {
  const at::Tensor x = at::randn({6, 5});
  at::Tensor result;
  const auto rows = record([&] { result = GetParam().call(x); }, {});
  if (GetParam().type[0] == '\0') {
    EXPECT_TRUE(rows.empty()) << json_text(rows[0].op.fields);
    return;
  }
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows.back().type->name, GetParam().type);
  EXPECT_EQ(rows.back().op.pass, GetParam().pass);
  EXPECT_EQ(json_text(rows.back().op.fields), GetParam().fields);
  const auto op = make_op(rows.back().type->name, rows.back().op.pass,
                          nlohmann::json::parse(json_text(rows.back().op.fields)));
  const at::Tensor again = op->call(op->inputs(1))()[0];
  if (result.dim() > 0) {
    EXPECT_EQ(again.numel(), result.numel());
  }
}

/// A watcher that tells which of LibTorch's ops were matched to rows, those inside others, too.
class MatchedNames final : public Watcher {
 public:
  std::set<std::string> names;

  bool start(const Event& event) override {
    if (!matcher_.match(event).ops.empty()) names.insert(std::string(event.call.name));
    return false;
  }

 private:
  OpMatcher matcher_;
};

/// LibTorch's other spellings of ops, which no type's own call takes.
void call_other_spellings() {
  const at::Tensor x = at::rand({6, 5}) + 1;
  const at::Tensor y = x.view({2, 3, 5});
  at::mv(x, x[0]);
  at::addmv(x.select(1, 0), x, x[0]);
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
  at::embedding_dense_backward(at::ones({4, 3}), ids, 5, -1, false);
  at::embedding_sparse_backward(at::ones({4, 3}), ids, 5, -1, false);
  const at::Tensor scores = at::randn({4, 1, 3}).log_softmax(2);
  at::ctc_loss(scores, at::ones({1, 2}, at::kLong), std::vector<int64_t>{4},
               std::vector<int64_t>{2});
}

/// Ops that only a GPU or oneDNN runs.
bool runs_elsewhere(std::string_view name) {
  return name.find("cudnn") != std::string_view::npos ||
         name.find("mkldnn") != std::string_view::npos;
}

TEST(Match, KnowsEveryNameThatATypeClaims) {
  MatchedNames matched;
  watch(
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
          << type.name << " claims " << name << ", but its match() makes no rows of it";
    }
  }
}

/// A call of cuDNN's LSTM as LibTorch makes it on a GPU: {x [5, 3, 4], ...}, two layers of width 6.
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
           {"huber_loss", [](const at::Tensor& x) {
              return at::huber_loss(x, at::zeros_like(x), at::Reduction::Sum, 1);
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
  for (const char* type : {"sgd", "momentum", "adam", "adagrad", "rmsprop", "clip_norm"}) {
    const std::string scope = "op:" + std::string(type);
    const auto rows = match(claim_of(scope), {scope, arguments});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].pass, kUpdate);
    EXPECT_EQ(json_text(rows[0].fields), R"({"tensors":[[3,5],[1]]})");
    EXPECT_TRUE(match(claim_of("op:other"), {"op:other", arguments}).empty());
    EXPECT_TRUE(match(claim_of(scope), {scope, {}}).empty());
  }
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
        fused_update(RmsProp{.rate = 1e-3, .decay = 0.9, .epsilon = 0.1},
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

}  // namespace
}  // namespace fathom::ops
