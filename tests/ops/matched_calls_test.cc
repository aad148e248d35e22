#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <gtest/gtest.h>

#include <string>

#include "ops/core/fields.h"
#include "ops/core/op.h"
#include "ops/kernels/detection/nms.h"
#include "ops/kernels/detection/roi_align.h"
#include "ops/kernels/sampled_softmax.h"
#include "ops/profiler/record.h"
#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

/// A call and the op that it matches; "" if none.
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
                      R"({"sizes":[6,5],"in_place":true})"},
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
        ExpectedMatch{"gelu", [](const at::Tensor& x) { return at::gelu(x); }, "gelu", kForward,
                      R"({"sizes":[6,5]})"},
        ExpectedMatch{"gelu_by_tanh", [](const at::Tensor& x) { return at::gelu(x, "tanh"); },
                      "gelu", kForward, R"({"sizes":[6,5],"tanh":true})"},
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
        ExpectedMatch{"scaled_dot_product_attention",
                      [](const at::Tensor& x) {
                        const at::Tensor q = x.view({1, 2, 3, 5});
                        return at::scaled_dot_product_attention(q.slice(2, 0, 1), q, q);
                      },
                      "scaled_dot_product_attention", kForward,
                      R"({"batch":1,"heads":2,"queries":1,"keys":3,"width":5})"},
        ExpectedMatch{"causal_attention",
                      [](const at::Tensor& x) {
                        const at::Tensor q = x.view({1, 2, 3, 5});
                        return at::scaled_dot_product_attention(q, q, q, {}, 0, true);
                      },
                      "scaled_dot_product_attention", kForward,
                      R"({"batch":1,"heads":2,"queries":3,"keys":3,"width":5,"causal":true})"},
        ExpectedMatch{"attention_with_dropout_on_a_cpu",
                      [](const at::Tensor& x) {
                        const at::Tensor q = x.view({1, 2, 3, 5});
                        return at::scaled_dot_product_attention(q, q, q, {}, 0.5);
                      },
                      "batched_matmul", kForward, R"({"batch":2,"m":3,"n":5,"k":3})"},
        ExpectedMatch{"log_softmax", [](const at::Tensor& x) { return x.log_softmax(0); },
                      "log_softmax", kForward, R"({"sizes":[1,6,5]})"},
        ExpectedMatch{"cross_entropy",
                      [](const at::Tensor& x) {
                        return at::cross_entropy_loss(x, at::ones({6}, at::kLong));
                      },
                      "softmax_cross_entropy", kForward, R"({"n":6,"classes":5})"},
        ExpectedMatch{"cross_entropy_without_padding",
                      [](const at::Tensor& x) {
                        return at::cross_entropy_loss(x, at::ones({6}, at::kLong), {},
                                                      at::Reduction::Sum, 0);
                      },
                      "softmax_cross_entropy", kForward, R"({"n":6,"classes":5,"padding":true})"},
        ExpectedMatch{"cross_entropy_of_smoothed_labels",
                      [](const at::Tensor& x) {
                        return at::cross_entropy_loss(x, at::ones({6}, at::kLong), {},
                                                      at::Reduction::Mean, -100, 0.25);
                      },
                      "softmax_cross_entropy", kForward,
                      R"({"n":6,"classes":5,"smoothing":0.25})"},
        ExpectedMatch{"cross_entropy_of_each",
                      [](const at::Tensor& x) {
                        return at::cross_entropy_loss(x, at::ones({6}, at::kLong), {},
                                                      at::Reduction::None);
                      },
                      "", kForward, ""},
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
        ExpectedMatch{
            "avg_pool_with_a_divisor",
            [](const at::Tensor& x) {
              return at::avg_pool2d(x.view({1, 2, 3, 5}), {2, 2}, {1, 1}, {0, 0}, false, true, 3);
            },
            "", kForward, ""},
        ExpectedMatch{"smooth_l1_loss",
                      [](const at::Tensor& x) {
                        return at::smooth_l1_loss(x, x, at::Reduction::Sum, 0.5);
                      },
                      "smooth_l1_loss", kForward, R"({"sizes":[6,5]})"},
        ExpectedMatch{"smooth_l1_loss_of_each",
                      [](const at::Tensor& x) {
                        return at::smooth_l1_loss(x, x, at::Reduction::None, 0.5);
                      },
                      "", kForward, ""},
        ExpectedMatch{"bce_loss",
                      [](const at::Tensor& x) {
                        return at::binary_cross_entropy_with_logits(x, x);
                      },
                      "bce_loss", kForward, R"({"sizes":[6,5]})"},
        ExpectedMatch{"index_select",
                      [](const at::Tensor& x) {
                        return at::index_select(x, 0, at::zeros({3}, at::kLong));
                      },
                      "index", kForward, R"({"sizes":[1,6,5],"picks":3})"},
        ExpectedMatch{"index",
                      [](const at::Tensor& x) {
                        return at::index(x, {std::nullopt, at::zeros({3}, at::kLong)});
                      },
                      "index", kForward, R"({"sizes":[6,5],"picks":3})"},
        ExpectedMatch{"index_of_pairs",
                      [](const at::Tensor& x) {
                        const at::Tensor zeros = at::zeros({3}, at::kLong);
                        return at::index(x, {zeros, zeros});
                      },
                      "index", kForward, R"({"sizes":[1,30],"picks":3})"},
        ExpectedMatch{"index_put_",
                      [](const at::Tensor& x) {
                        return x.index_put_({at::zeros({3}, at::kLong)}, at::ones({3, 5}), true);
                      },
                      "index_put", kForward, R"({"sizes":[1,6,5],"picks":3,"accumulate":true})"},
        ExpectedMatch{"where",
                      [](const at::Tensor& x) {
                        return at::where(at::ones({5}, at::kBool), x, x);
                      },
                      "where", kForward, R"({"sizes":[6,5],"mask":[5]})"},
        ExpectedMatch{"masked_fill",
                      [](const at::Tensor& x) {
                        return x.masked_fill(at::ones({6, 5}, at::kBool), 2);
                      },
                      "where", kForward, R"({"sizes":[6,5],"number":true})"},
        ExpectedMatch{"sort", [](const at::Tensor& x) { return std::get<0>(x.sort(-1, true)); },
                      "sort", kForward, R"({"sizes":[6,5],"dim":1,"descending":true})"},
        ExpectedMatch{"stable_sort",
                      [](const at::Tensor& x) {
                        return std::get<0>(x.sort(/*stable=*/true, 0, false));
                      },
                      "sort", kForward, R"({"sizes":[6,5],"dim":0,"stable":true})"},
        ExpectedMatch{"topk", [](const at::Tensor& x) { return std::get<0>(x.topk(2)); }, "top_k",
                      kForward, R"({"sizes":[6,5],"dim":1,"k":2})"},
        ExpectedMatch{"topk_of_the_smallest",
                      [](const at::Tensor& x) { return std::get<0>(x.topk(2, 1, false)); }, "",
                      kForward, ""},
        ExpectedMatch{"upsample_nearest2d",
                      [](const at::Tensor& x) {
                        return at::upsample_nearest2d(x.view({1, 2, 3, 5}), {6, 10});
                      },
                      "upsample_nearest", kForward, R"({"sizes":[1,2,3,5],"output":[6,10]})"},
        ExpectedMatch{"upsample_nearest2d_by_factors",
                      [](const at::Tensor& x) {
                        return at::upsample_nearest2d(x.view({1, 2, 3, 5}), std::nullopt,
                                                      at::ArrayRef<double>{2, 3});
                      },
                      "upsample_nearest", kForward, R"({"sizes":[1,2,3,5],"output":[6,15]})"},
        ExpectedMatch{"group_norm",
                      [](const at::Tensor& x) {
                        return at::group_norm(x.view({1, 6, 5}), 3, at::ones({6}), at::zeros({6}));
                      },
                      "group_norm", kForward, R"({"sizes":[1,6,5],"groups":3})"},
        ExpectedMatch{"group_norm_without_weights",
                      [](const at::Tensor& x) { return at::group_norm(x.view({1, 6, 5}), 3); }, "",
                      kForward, ""},
        ExpectedMatch{"layer_norm",
                      [](const at::Tensor& x) {
                        return at::layer_norm(x, {5}, at::ones({5}), at::zeros({5}));
                      },
                      "layer_norm", kForward, R"({"sizes":[6,5]})"},
        ExpectedMatch{"layer_norm_of_two_dimensions",
                      [](const at::Tensor& x) {
                        const at::Tensor ones = at::ones({3, 5});
                        return at::layer_norm(x.view({2, 3, 5}), {3, 5}, ones, ones);
                      },
                      "layer_norm", kForward, R"({"sizes":[2,3,5],"normalized":2})"},
        ExpectedMatch{"layer_norm_without_bias",
                      [](const at::Tensor& x) { return at::layer_norm(x, {5}, x[0]); }, "",
                      kForward, ""},
        ExpectedMatch{"roi_align",
                      [](const at::Tensor& x) {
                        return roi_align(x.view({1, 2, 3, 5}), at::zeros({4, 5}), {2, 3, 0.5, 2});
                      },
                      "roi_align", kForward,
                      R"({"sizes":[1,2,3,5],"regions":4,"output":[2,3],"scale":0.5,"samples":2})"},
        ExpectedMatch{"nms",
                      [](const at::Tensor& x) { return nms(x.slice(1, 0, 4), x.select(1, 4), 0.5); },
                      "nms", kForward, R"({"boxes":6,"max_overlap":0.5})"},
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
        ExpectedMatch{"multinomial",
                      [](const at::Tensor& x) { return at::multinomial(x.square(), 1); },
                      "multinomial", kForward, R"({"rows":6,"classes":5})"},
        ExpectedMatch{"multinomial_of_one_row",
                      [](const at::Tensor& x) { return at::multinomial(x[0].square(), 1, true); },
                      "multinomial", kForward, R"({"rows":1,"classes":5})"},
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
  const auto op =
      make_op(rows.back().type->name, rows.back().op.pass, json_text(rows.back().op.fields));
  const at::Tensor again = op->call(op->inputs(1))()[0];
  if (result.dim() > 0 && GetParam().type != std::string_view("nms")) {  // keeps any number
    EXPECT_EQ(again.numel(), result.numel());
  }
}

}  // namespace
}  // namespace fathom::ops
