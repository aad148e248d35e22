#include <ATen/TensorOperators.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/ctc_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "ops/kernels/add_norm.h"
#include "ops/kernels/additive_attention.h"
#include "ops/kernels/local_response_norm.h"
#include "ops/kernels/recurrent/clipped_relu_rnn.h"
#include "ops/kernels/recurrent/gru.h"
#include "ops/kernels/recurrent/lstm_cell.h"
#include "ops/kernels/recurrent/lstm_recurrence.h"
#include "ops/kernels/sampled_softmax.h"
#include "ops/profiler/record.h"
#include "tests/ops/op_cases.h"

namespace fathom::ops {
namespace {

struct RealCall {
  const char* type;
  std::function<at::Tensor()> run;
  std::vector<std::pair<Pass, const char*>> rows;
};

at::Tensor leaf(at::IntArrayRef sizes) { return at::randn(sizes).requires_grad_(); }

std::vector<RealCall> real_calls() {
  return {
      {"conv2d",
       [] {
         return at::conv2d(leaf({2, 4, 9, 7}), leaf({6, 2, 3, 2}), leaf({6}), {2, 1}, {1, 0}, 1, 2);
       },
       {{kForward,
         R"({"n":2,"c":4,"k":6,"image":[9,7],"kernel":[3,2],"stride":[2,1],"padding":[1,0],"groups":2,"bias":true})"},
        {Pass::kDgrad,
         R"({"n":2,"c":4,"k":6,"image":[9,7],"kernel":[3,2],"stride":[2,1],"padding":[1,0],"groups":2})"},
        {Pass::kWgrad,
         R"({"n":2,"c":4,"k":6,"image":[9,7],"kernel":[3,2],"stride":[2,1],"padding":[1,0],"groups":2,"bias":true})"}}},
      {"conv2d",
       [] {
         return at::conv2d(at::randn({1, 3, 5, 5}), leaf({2, 3, 3, 3}));
       },
       {{kForward, R"({"n":1,"c":3,"k":2,"image":[5,5],"kernel":[3,3]})"},
        {Pass::kWgrad, R"({"n":1,"c":3,"k":2,"image":[5,5],"kernel":[3,3]})"}}},
      {"matmul",  // a layer with one output
       [] {
         return at::linear(leaf({3, 5}), leaf({1, 5}), leaf({1}));
       },
       {{kForward, R"({"m":3,"n":1,"k":5,"transpose_b":true,"bias":true})"},
        {Pass::kDgrad, R"({"m":3,"n":5,"k":1})"},
        {Pass::kWgrad, R"({"m":1,"n":5,"k":3,"transpose_a":true})"}}},
      {"max_pool",
       [] {
         return at::max_pool2d(leaf({2, 3, 9, 7}), {3, 3}, {2, 2}, {1, 1});
       },
       {{kForward, R"({"sizes":[2,3,9,7],"kernel":[3,3],"stride":[2,2],"padding":[1,1]})"},
        {kBackward, R"({"sizes":[2,3,9,7],"kernel":[3,3],"stride":[2,2],"padding":[1,1]})"}}},
      {"max_pool",
       [] {
         return at::max_pool2d(leaf({2, 3, 8, 8}), {2, 2});
       },
       {{kForward, R"({"sizes":[2,3,8,8],"kernel":[2,2]})"},
        {kBackward, R"({"sizes":[2,3,8,8],"kernel":[2,2]})"}}},
      {"avg_pool",
       [] {
         return at::adaptive_avg_pool2d(leaf({2, 3, 7, 7}), {1, 1});
       },
       {{kForward, R"({"sizes":[2,3,7,7],"output":[1,1]})"}}},
      {"avg_pool",
       [] {
         return at::adaptive_avg_pool2d(leaf({2, 3, 7, 7}), {3, 2});
       },
       {{kForward, R"({"sizes":[2,3,7,7],"output":[3,2]})"},
        {kBackward, R"({"sizes":[2,3,7,7],"output":[3,2]})"}}},
      {"avg_pool",
       [] {
         return at::avg_pool2d(leaf({2, 3, 9, 7}), {3, 3}, {1, 1}, {1, 1});
       },
       {{kForward, R"({"sizes":[2,3,9,7],"kernel":[3,3],"stride":[1,1],"padding":[1,1]})"},
        {kBackward, R"({"sizes":[2,3,9,7],"kernel":[3,3],"stride":[1,1],"padding":[1,1]})"}}},
      {"avg_pool",
       [] {
         return at::avg_pool2d(leaf({2, 3, 9, 7}), {2, 2}, {}, {1, 0}, true, false);
       },
       {{kForward,
         R"({"sizes":[2,3,9,7],"kernel":[2,2],"padding":[1,0],"ceil":true,"exclude_padding":true})"},
        {kBackward,
         R"({"sizes":[2,3,9,7],"kernel":[2,2],"padding":[1,0],"ceil":true,"exclude_padding":true})"}}},
      {"batch_norm",
       [] {
         return at::batch_norm(leaf({2, 3, 5, 5}), leaf({3}), leaf({3}), at::zeros({3}),
                               at::ones({3}), true, 0.1, 1e-5, true);
       },
       {{kForward, R"({"sizes":[2,3,5,5]})"}, {kBackward, R"({"sizes":[2,3,5,5]})"}}},
      {"local_response_norm",
       [] {
         return local_response_norm(leaf({2, 7, 3, 3}),
                                    {.size = 5, .alpha = 0.5, .beta = 0.75, .bias = 2});
       },
       {{kForward, R"({"sizes":[2,7,3,3],"size":5,"alpha":0.5,"beta":0.75,"bias":2.0})"},
        {kBackward, R"({"sizes":[2,7,3,3],"size":5,"alpha":0.5,"beta":0.75,"bias":2.0})"}}},
      {"lstm",
       [] {
         const at::Tensor start = at::zeros({2, 3, 4});
         const std::vector<at::Tensor> weights{leaf({16, 6}), leaf({16, 4}), leaf({16}),
                                               leaf({16}),    leaf({16, 4}), leaf({16, 4}),
                                               leaf({16}),    leaf({16})};
         return std::get<0>(
             at::lstm(leaf({5, 3, 6}), {start, start}, weights, true, 2, 0, true, false, false));
       },
       {{kForward, R"({"steps":5,"n":3,"inputs":6,"width":4,"bias":true})"},
        {kForward, R"({"steps":5,"n":3,"inputs":4,"width":4,"bias":true})"},
        {kBackward, R"({"steps":5,"n":3,"inputs":4,"width":4,"bias":true})"},
        {kBackward, R"({"steps":5,"n":3,"inputs":6,"width":4,"bias":true})"}}},
      {"lstm_cell",
       [] {
         return lstm_cell(leaf({3, 5}), {.h = leaf({3, 4}), .c = leaf({3, 4})}, leaf({16, 9}),
                          leaf({16}))
             .h;
       },
       {{kForward, R"({"n":3,"inputs":5,"width":4})"},
        {kBackward, R"({"n":3,"inputs":5,"width":4})"}}},
      {"gru",
       [] {
         return gru(leaf({5, 3, 6}), at::zeros({3, 4}),
                    {leaf({12, 6}), leaf({12, 4}), leaf({12}), leaf({12})}, Direction::kBackward);
       },
       {{kForward, R"({"steps":5,"n":3,"inputs":6,"width":4})"},
        {kBackward, R"({"steps":5,"n":3,"inputs":6,"width":4})"}}},
      {"gru",
       [] {
         const std::vector<at::Tensor> weights{leaf({12, 6}), leaf({12, 4}), leaf({12}),
                                               leaf({12}),    leaf({12, 4}), leaf({12, 4}),
                                               leaf({12}),    leaf({12})};
         return std::get<0>(at::gru(at::randn({5, 3, 6}), at::zeros({2, 3, 4}), weights, true, 2, 0,
                                    true, false, false));
       },
       {{kForward, R"({"steps":5,"n":3,"inputs":6,"width":4})"},
        {kForward, R"({"steps":5,"n":3,"inputs":4,"width":4})"}}},
      {"gru_cell",
       [] {
         return gru_cell(leaf({3, 5}), leaf({3, 4}),
                         {leaf({12, 5}), leaf({12, 4}), leaf({12}), leaf({12})});
       },
       {{kForward, R"({"n":3,"inputs":5,"width":4})"},
        {kBackward, R"({"n":3,"inputs":5,"width":4})"}}},
      {"clipped_relu_rnn",
       [] {
         return clipped_relu_rnn(leaf({5, 2, 3}), leaf({3, 3}), at::arange(4, 6),
                                 Direction::kBackward);
       },
       {{kForward, R"({"frames":5,"n":2,"width":3,"reverse":true})"},
        {kBackward, R"({"frames":5,"n":2,"width":3,"reverse":true})"}}},
      {"additive_attention",
       [] {
         return additive_attention(leaf({2, 5, 3}), leaf({2, 5, 4}), leaf({2, 4}), leaf({1, 4}));
       },
       {{kForward, R"({"n":2,"places":5,"width":3,"query":4})"},
        {kBackward, R"({"n":2,"places":5,"width":3,"query":4})"}}},
      {"additive_attention",
       [] {
         return additive_attention(leaf({2, 5, 3}), leaf({2, 5, 4}), leaf({2, 4}), leaf({1, 4}),
                                   at::zeros({2, 5}));
       },
       {{kForward, R"({"n":2,"places":5,"width":3,"query":4,"mask":true})"},
        {kBackward, R"({"n":2,"places":5,"width":3,"query":4,"mask":true})"}}},
      {"additive_attention",
       [] {
         return fused_additive_attention(leaf({2, 5, 3}), leaf({2, 5, 4}), leaf({2, 4}),
                                         leaf({1, 4}), at::zeros({2, 5}));
       },
       {{kForward, R"({"n":2,"places":5,"width":3,"query":4,"mask":true})"},
        {kBackward, R"({"n":2,"places":5,"width":3,"query":4,"mask":true})"}}},
      {"add_layer_norm",
       [] {
         return fused_add_layer_norm(leaf({3, 2, 5}), leaf({3, 2, 5}), leaf({5}), leaf({5}), 1e-5)
             .normalised;
       },
       {{kForward, R"({"sizes":[3,2,5]})"}, {kBackward, R"({"sizes":[3,2,5]})"}}},
      {"lstm_recurrence",
       [] {
         return lstm_recurrence(leaf({5, 2, 12}), leaf({12, 3}), at::arange(4, 6)).h;
       },
       {{kForward, R"({"steps":5,"n":2,"width":3})"},
        {kBackward, R"({"steps":5,"n":2,"width":3})"}}},
      {"sampled_softmax",
       [] {
         return sampled_softmax(leaf({2, 3, 4}), leaf({23, 4}), leaf({23}),
                                at::randint(23, {2, 3}, at::kLong), draw_log_uniform(2, 5, 23));
       },
       {{kForward, R"({"positions":2,"n":3,"width":4,"classes":23,"candidates":5})"},
        {kBackward, R"({"positions":2,"n":3,"width":4,"classes":23,"candidates":5})"}}},
      {"ctc_loss",
       [] {
         return at::ctc_loss(leaf({9, 2, 5}), at::randint(1, 5, {5}, at::kInt),
                             at::arange(8, 10, at::kInt), at::arange(2, 4, at::kInt), 0,
                             at::Reduction::None, true);
       },
       {{kForward, R"({"frames":9,"n":2,"classes":5,"labels":3})"},
        {kBackward, R"({"frames":9,"n":2,"classes":5,"labels":3})"}}},
      {"softmax",
       [] {
         return at::softmax(leaf({2, 5, 3}), 1);
       },
       {{kForward, R"({"sizes":[2,5,3]})"}, {kBackward, R"({"sizes":[2,5,3]})"}}},
      {"softmax",
       [] {
         return at::softmax(leaf({2, 5, 3}), -1);
       },
       {{kForward, R"({"sizes":[10,3]})"}, {kBackward, R"({"sizes":[10,3]})"}}},
      {"softmax_cross_entropy",
       [] {
         return at::cross_entropy_loss(leaf({5, 7}), at::randint(7, {5}, at::kLong));
       },
       {{kForward, R"({"n":5,"classes":7})"}, {kBackward, R"({"n":5,"classes":7})"}}},
      {"softmax_cross_entropy",
       [] {
         return at::cross_entropy_loss(leaf({5, 7}), at::randint(7, {5}, at::kLong), {},
                                       at::Reduction::Mean, 0, 0.1);
       },
       {{kForward, R"({"n":5,"classes":7,"smoothing":0.1,"padding":true})"},
        {kBackward, R"({"n":5,"classes":7,"smoothing":0.1,"padding":true})"}}},
      {"softmax_cross_entropy",
       [] {
         return at::log_softmax(leaf({5, 7}), 1);
       },
       {}},
      {"log_softmax",
       [] {
         return at::log_softmax(leaf({2, 5, 3}), 1);
       },
       {{kForward, R"({"sizes":[2,5,3]})"}, {kBackward, R"({"sizes":[2,5,3]})"}}},
      {"log_softmax",
       [] {
         return at::cross_entropy_loss(leaf({5, 7}), at::randint(7, {5}, at::kLong));
       },
       {}},
      {"embedding",
       [] {
         return at::embedding(leaf({11, 3}), at::randint(11, {2, 4}, at::kLong));
       },
       {{kForward, R"({"rows":11,"width":3,"ids":8})"},
        {kBackward, R"({"rows":11,"width":3,"ids":8})"}}},
      {"embedding",
       [] {
         return at::embedding(leaf({11, 3}), at::randint(11, {2, 4}, at::kLong), -1, false, true);
       },
       {{kForward, R"({"rows":11,"width":3,"ids":8})"},
        {kBackward, R"({"rows":11,"width":3,"ids":8,"sparse":true})"}}},
      {"gather",
       [] {
         return leaf({5, 4}).gather(1, at::randint(4, {5, 1}, at::kLong));
       },
       {{kForward, R"({"sizes":[5,4],"picks":1})"}, {kBackward, R"({"sizes":[5,4],"picks":1})"}}},
  };
}

TEST(NetworkOpMatch, GivesTheRowsOfRealCalls) {
  for (const auto& [type, run, expected] : real_calls()) {
    at::Tensor result;
    const auto work = [&run = run, &result] {
      result = run();
      result.backward(at::ones_like(result));
    };
    std::vector<std::pair<Pass, std::string>> found;
    for (const auto& row : record(work, {})) {
      if (row.type->name == type) found.emplace_back(row.op.pass, json_text(row.op.fields));
    }
    const std::vector<std::pair<Pass, std::string>> wanted(expected.begin(), expected.end());
    EXPECT_EQ(found, wanted) << type;
    for (const auto& [pass, fields] : found) {
      const auto op = make_op(type, pass, fields);
      const Tensors outputs = op->call(op->inputs(1))();
      // The op has the ids of several axes as one list.
      if (pass == kForward && found.size() <= 3) {
        EXPECT_EQ(outputs[0].numel(), result.numel()) << type;
      }
    }
  }
}

ObservedCall observed(std::string_view name, const std::vector<c10::IValue>& arguments) {
  return {name, c10::ArrayRef<const c10::IValue>(arguments.data(), arguments.size())};
}

TEST(NetworkOpMatch, LeavesOutWhatIsNotMeasured) {
  const std::vector<c10::IValue> transposed{at::randn({1, 3, 5, 5}),
                                            at::randn({3, 2, 3, 3}),
                                            c10::IValue(),
                                            std::vector<int64_t>{1, 1},
                                            std::vector<int64_t>{0, 0},
                                            std::vector<int64_t>{1, 1},
                                            true,
                                            std::vector<int64_t>{0, 0},
                                            1};
  EXPECT_TRUE(op_type("conv2d")->match(observed("aten::convolution", transposed)).empty());
  const std::vector<c10::IValue> without_weight{at::randn({2, 3}),
                                                c10::IValue(),
                                                c10::IValue(),
                                                at::zeros({3}),
                                                at::ones({3}),
                                                true,
                                                0.1,
                                                1e-5,
                                                true};
  EXPECT_TRUE(op_type("batch_norm")->match(observed("aten::batch_norm", without_weight)).empty());
  const std::vector<c10::IValue> corner{at::randn({5, 4}), 1, at::zeros({2, 1}, at::kLong), false};
  EXPECT_TRUE(op_type("gather")->match(observed("aten::gather", corner)).empty());
}

}  // namespace
}  // namespace fathom::ops
