#include <ATen/TensorOperators.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/ctc_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "ops/additive_attention.h"
#include "ops/check.h"
#include "ops/clipped_relu_rnn.h"
#include "ops/kinds.h"
#include "ops/local_response_norm.h"
#include "ops/lstm_cell.h"
#include "ops/sampled_softmax.h"
#include "ops/table.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;
using Json = nlohmann::ordered_json;

const OpType& type_of(std::string_view name) {
  return *std::find_if(op_types().begin(), op_types().end(),
                       [&](const OpType& type) { return type.name == name; });
}

std::unique_ptr<Op> make(std::string_view type, Pass pass, const Json& json) {
  const nlohmann::json row = json;
  Fields fields(row, "test");
  auto op = type_of(type).make(fields, pass);
  fields.done();
  return op;
}

struct Case {
  const char* type;
  Json fields;
};

/// Small and awkward: extents of 1, primes, strides, padding, groups.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    const std::vector<std::pair<const char*, const char*>> texts{
        {"conv2d", R"({"n": 2, "c": 3, "k": 5, "image": [7, 6], "kernel": [3, 3],
                       "padding": [1, 1], "bias": true})"},
        {"conv2d", R"({"n": 1, "c": 4, "k": 6, "image": [11, 13], "kernel": [5, 3], "groups": 2,
                       "stride": [2, 1], "padding": [2, 0]})"},
        {"conv2d", R"({"n": 3, "c": 2, "k": 2, "image": [9, 8], "kernel": [3, 2], "stride": [2, 3],
                       "padding": [2, 2], "dilation": [2, 3], "bias": true})"},
        {"conv2d", R"({"n": 1, "c": 1, "k": 1, "image": [1, 1], "kernel": [1, 1]})"},
        {"max_pool", R"({"sizes": [2, 3, 7, 9], "kernel": [3, 3], "stride": [2, 2]})"},
        {"max_pool", R"({"sizes": [1, 5, 8, 5], "kernel": [3, 2], "stride": [2, 2],
                         "padding": [1, 1], "ceil": true})"},
        {"max_pool", R"({"sizes": [1, 1, 6, 6], "kernel": [2, 2]})"},
        {"avg_pool", R"({"sizes": [2, 3, 7, 5], "output": [1, 1]})"},
        {"avg_pool", R"({"sizes": [1, 3, 7, 5], "output": [3, 2]})"},
        {"batch_norm", R"({"sizes": [2, 3, 5, 7]})"},
        {"batch_norm", R"({"sizes": [11, 4]})"},
        {"local_response_norm", R"({"sizes": [2, 7, 3, 5], "size": 5, "alpha": 0.5, "beta": 0.75,
                                    "bias": 2})"},
        {"lstm", R"({"steps": 5, "n": 3, "inputs": 4, "width": 6, "bias": true})"},
        {"lstm", R"({"steps": 1, "n": 1, "inputs": 7, "width": 2})"},
        {"lstm_cell", R"({"n": 3, "inputs": 5, "width": 4})"},
        {"lstm_cell", R"({"n": 1, "inputs": 1, "width": 1})"},
        {"rnn", R"({"frames": 7, "n": 3, "width": 5})"},
        {"rnn", R"({"frames": 5, "n": 2, "width": 4, "reverse": true})"},
        {"rnn", R"({"frames": 1, "n": 2, "width": 3})"},
        {"attention", R"({"n": 3, "places": 5, "width": 4, "query": 2})"},
        {"attention", R"({"n": 1, "places": 1, "width": 3, "query": 1})"},
        {"sampled_softmax", R"({"positions": 2, "n": 3, "width": 4, "classes": 23,
                                "candidates": 5})"},
        {"ctc_loss", R"({"frames": 13, "n": 3, "classes": 5, "labels": 4})"},
        {"ctc_loss", R"({"frames": 2, "n": 1, "classes": 2, "labels": 1})"},
        {"softmax", R"({"sizes": [3, 7]})"},
        {"softmax", R"({"sizes": [2, 5, 3]})"},
        {"softmax_cross_entropy", R"({"n": 5, "classes": 7})"},
        {"softmax_cross_entropy", R"({"n": 1, "classes": 2})"},
        {"embedding", R"({"rows": 11, "width": 3, "ids": 7})"},
        {"embedding", R"({"rows": 11, "width": 3, "ids": 7, "sparse": true})"},
        {"gather", R"({"sizes": [5, 4], "picks": 1})"},
        {"gather", R"({"sizes": [2, 5, 3], "picks": 7})"},
    };
    std::vector<Case> made;
    for (const auto& [type, text] : texts) made.push_back({type, Json::parse(text)});
    return made;
  }();
  return all;
}

/// A case in one of its type's passes.
struct PassCase {
  const Case* of;
  Pass pass;
};

std::vector<PassCase> pass_cases(bool gradients_only) {
  std::vector<PassCase> made;
  for (const auto& one : cases()) {
    for (const Pass pass : type_of(one.type).passes) {
      if (pass != Pass::kForward || !gradients_only) made.push_back({&one, pass});
    }
  }
  return made;
}

std::string case_name(const testing::TestParamInfo<PassCase>& info) {
  return std::string(info.param.of->type) + "_" + std::string(name(info.param.pass)) + "_" +
         std::to_string(info.index);
}

class NetworkOp : public testing::TestWithParam<PassCase> {
 protected:
  std::unique_ptr<Op> op() const {
    return make(GetParam().of->type, GetParam().pass, GetParam().of->fields);
  }
};

TEST_P(NetworkOp, PassesItsOwnCheckAndOneElementPutOffDoesNot) {
  for (const auto precision : {Precision::kFp32, Precision::kBf16}) {
    const auto type = precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
    const auto one = op();
    const Tensors inputs = converted(one->inputs(3), type, at::kCPU);
    const Tensors outputs = one->call(inputs)();
    EXPECT_NO_THROW(one->check(inputs, outputs, precision)) << name(precision);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Tensors wrong = outputs;
      wrong[i] = outputs[i].clone();
      wrong[i].view(-1)[-1] += wrong[i].is_floating_point() ? 1 : 3;
      EXPECT_THROW(one->check(inputs, wrong, precision), std::runtime_error) << "output " << i;
    }
  }
}

TEST_P(NetworkOp, HasTheSameInputsForTheSameSeed) {
  const Tensors first = op()->inputs(5);
  const Tensors again = op()->inputs(5);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(at::equal(first[i], again[i])) << "input " << i;
    EXPECT_TRUE(first[i].scalar_type() == at::kFloat || first[i].scalar_type() == at::kLong);
  }
}

TEST_P(NetworkOp, CostsAtLeastItsOutputs) {
  const auto one = op();
  double bytes = 0;
  for (const auto& output : one->call(one->inputs(3))()) {
    bytes += static_cast<double>(output.nbytes());
  }
  if (GetParam().of->fields.contains("sparse") && GetParam().pass == Pass::kBackward) bytes = 0;
  EXPECT_GE(one->cost(Precision::kFp32).bytes, bytes);
  EXPECT_GE(one->cost(Precision::kFp32).bytes, one->cost(Precision::kBf16).bytes);
}

INSTANTIATE_TEST_SUITE_P(All, NetworkOp, testing::ValuesIn(pass_cases(false)), case_name);

// ---- gradients against central differences through the forward op

/// Σ outputs · gradients over the floating outputs of forward.
double weighed(const Op& forward, Tensors inputs, const Tensors& gradients, bool scores) {
  // CTC's gradient is that to the scores before the softmax.
  if (scores) inputs[0] = at::log_softmax(inputs[0], 2);
  const Tensors outputs = forward.call(inputs)();
  double sum = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    sum += (outputs[i] * gradients[i]).sum().item<double>();
  }
  return sum;
}

class NetworkGradient : public NetworkOp {};

TEST_P(NetworkGradient, IsThatOfCentralDifferences) {
  constexpr double kStep = 1e-5;
  const auto& [one, pass] = GetParam();
  const std::string_view type = one->type;
  const auto forward = make(type, Pass::kForward, one->fields);
  const auto backward = make(type, pass, one->fields);
  Tensors inputs = converted(forward->inputs(7), at::kDouble, at::kCPU);
  Tensors given = converted(backward->inputs(7), at::kDouble, at::kCPU);

  // The convention: forward's inputs, then a gradient to each floating output.
  std::vector<std::size_t> leaves;
  Tensors gradients;
  if (type == "rnn") {  // {h, recurrent, g}
    leaves = {0, 1};
    gradients = {given[2]};
    given[0] = forward->call(inputs)()[0];
    given[1] = inputs[1];
  } else if (type == "conv2d") {  // {x, weight, g}
    gradients = {given[2]};
    const bool bias = inputs.size() == 3;
    if (pass == Pass::kDgrad) leaves = {0};
    if (pass == Pass::kWgrad) leaves = bias ? std::vector<std::size_t>{1, 2} : std::vector{1UL};
    given = {inputs[0], inputs[1], given[2]};
  } else {
    gradients = Tensors(given.begin() + static_cast<std::ptrdiff_t>(inputs.size()), given.end());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      given[i] = inputs[i];
      const bool constant = type == "sampled_softmax" && i == 5;  // tries
      if (inputs[i].is_floating_point() && !constant) leaves.push_back(i);
    }
  }
  Tensors found = backward->call(given)();
  if (one->fields.contains("sparse")) {
    at::Tensor dense = at::zeros_like(inputs[0]);
    dense.index_add_(0, found[0].view(-1), found[1]);
    found = {dense};
  }
  ASSERT_EQ(found.size(), leaves.size());
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    at::Tensor& leaf = inputs[leaves[i]];
    ASSERT_EQ(found[i].sizes(), leaf.sizes());
    const at::Tensor slopes = found[i].contiguous();
    const at::Tensor kept = leaf.clone();
    for (int64_t k = 0; k < leaf.numel(); ++k) {
      const auto at = [&](double step) {
        leaf = kept.clone();
        leaf.mutable_data_ptr<double>()[k] += step;
        return weighed(*forward, inputs, gradients, type == "ctc_loss");
      };
      const double expected = (at(kStep) - at(-kStep)) / (2 * kStep);
      EXPECT_NEAR(slopes.const_data_ptr<double>()[k], expected, 1e-5 * (1 + std::abs(expected)))
          << "leaf " << leaves[i] << " element " << k;
    }
    leaf = kept;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NetworkGradient, testing::ValuesIn(pass_cases(true)), case_name);

// ---- forwards that are not plain

TEST(Lstm, IsALoopOfCells) {
  const auto op =
      make("lstm", Pass::kForward,
           Json::parse(R"({"steps": 4, "n": 3, "inputs": 5, "width": 2, "bias": true})"));
  for (const auto type : {at::kFloat, at::kDouble}) {
    const Tensors in = converted(op->inputs(3), type, at::kCPU);
    const at::Tensor weight = at::cat({in[3], in[4]}, 1);
    LstmState state{.h = in[1][0], .c = in[2][0]};
    const Tensors found = op->call(in)();
    for (int64_t step = 0; step < 4; ++step) {
      state = lstm_cell(in[0][step], state, weight, in[5] + in[6]);
      EXPECT_TRUE(at::allclose(found[0][step], state.h, 1e-5, 1e-6));
    }
    EXPECT_TRUE(at::allclose(found[1][0], state.h, 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(found[2][0], state.c, 1e-5, 1e-6));
  }
}

/// The probability of every path of T frames whose repeats and blanks collapse to the labels.
double enumerated_ctc(const at::Tensor& log_probabilities, const std::vector<int64_t>& labels) {
  const int64_t frames = log_probabilities.size(0);
  const int64_t classes = log_probabilities.size(1);
  const auto* scores = log_probabilities.const_data_ptr<double>();
  int64_t paths = 1;
  for (int64_t t = 0; t < frames; ++t) paths *= classes;
  double probability = 0;
  for (int64_t path = 0; path < paths; ++path) {
    std::vector<int64_t> collapsed;
    double score = 0;
    int64_t rest = path;
    int64_t before = 0;
    for (int64_t t = 0; t < frames; ++t, rest /= classes) {
      const int64_t now = rest % classes;
      score += scores[t * classes + now];
      if (now != before && now != 0) collapsed.push_back(now);
      before = now;
    }
    if (collapsed == labels) probability += std::exp(score);
  }
  return -std::log(probability);
}

TEST(CtcLoss, IsTheSumOverAllPaths) {
  const auto op = make("ctc_loss", Pass::kForward,
                       Json::parse(R"({"frames": 6, "n": 3, "classes": 4, "labels": 2})"));
  const Tensors in = converted(op->inputs(3), at::kDouble, at::kCPU);
  const at::Tensor losses = op->call(in)()[0];
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t frames = in[2][i].item<int64_t>();
    std::vector<int64_t> labels;
    for (int64_t j = 0; j < in[3][i].item<int64_t>(); ++j) {
      labels.push_back(in[1][i][j].item<int64_t>());
    }
    const double expected =
        enumerated_ctc(in[0].select(1, i).narrow(0, 0, frames).contiguous(), labels);
    EXPECT_NEAR(losses[i].item<double>(), expected, 1e-9);
  }
}

// ---- cost

TEST(NetworkOpCost, IsThatOfAKnownShape) {
  struct Known {
    const char* type;
    Pass pass;
    const char* fields;
    double flops;
    double bytes;
  };
  const std::vector<Known> known{
      // 3 x 3 over 4 x 4 without padding: 2 x 2 outputs of 9 taps, 2 x 3 x 5 pairs of channels.
      {"conv2d", Pass::kForward,
       R"({"n": 2, "c": 3, "k": 5, "image": [4, 4], "kernel": [3, 3], "bias": true})",
       2.0 * 2 * 3 * 5 * 4 * 9, 4.0 * (2 * 3 * 16 + 5 * 3 * 9 + 2 * 5 * 4 + 5)},
      {"max_pool", Pass::kForward, R"({"sizes": [1, 1, 4, 4], "kernel": [2, 2]})", 0,
       4.0 * (16 + 4) + 8 * 4},
      {"avg_pool", Pass::kBackward, R"({"sizes": [1, 2, 4, 4], "output": [1, 1]})", 0,
       4.0 * (32 + 2)},
      {"batch_norm", Pass::kForward, R"({"sizes": [2, 3, 5, 7]})", 0, 4.0 * (2 * 210 + 8 * 3)},
      {"local_response_norm", Pass::kForward,
       R"({"sizes": [1, 2, 3, 4], "size": 3, "alpha": 1, "beta": 1, "bias": 1})", 0, 4.0 * 48},
      {"lstm", Pass::kForward, R"({"steps": 5, "n": 2, "inputs": 3, "width": 4})",
       2.0 * 10 * 16 * 7, 4.0 * (16 * 7 + 30 + 16 + 40 + 16)},
      {"lstm_cell", Pass::kBackward, R"({"n": 2, "inputs": 3, "width": 4})", 4.0 * 2 * 16 * 7,
       4.0 * (2 * (6 + 16 + 112 + 16) + 16)},
      {"rnn", Pass::kForward, R"({"frames": 3, "n": 2, "width": 5})", 2.0 * 2 * 2 * 25,
       4.0 * (2 * 30 + 25) + 8 * 2},
      {"attention", Pass::kForward, R"({"n": 2, "places": 3, "width": 4, "query": 5})",
       2.0 * 2 * 3 * 9, 4.0 * (2 * 3 * 9 + 10 + 5 + 8)},
      {"sampled_softmax", Pass::kForward,
       R"({"positions": 2, "n": 3, "width": 4, "classes": 50, "candidates": 5})", 2.0 * 24 * 6,
       4.0 * (24 + 16 * 5 + 2 + 6) + 8 * 16},
      {"ctc_loss", Pass::kForward, R"({"frames": 9, "n": 2, "classes": 5, "labels": 3})", 0,
       4.0 * (90 + 9 * 2 * 7 + 2) + 8 * (6 + 4)},
      {"softmax", Pass::kBackward, R"({"sizes": [3, 5]})", 0, 4.0 * 45},
      {"softmax_cross_entropy", Pass::kForward, R"({"n": 3, "classes": 5})", 0,
       4.0 * (2 * 15 + 1) + 8 * 3},
      {"embedding", Pass::kBackward, R"({"rows": 11, "width": 3, "ids": 2})", 0,
       4.0 * (6 + 33) + 16},
      {"gather", Pass::kForward, R"({"sizes": [5, 4], "picks": 1})", 0, 4.0 * 10 + 8 * 5},
  };
  for (const auto& [type, pass, fields, flops, bytes] : known) {
    const Cost cost = make(type, pass, Json::parse(fields))->cost(Precision::kFp32);
    EXPECT_EQ(cost.flops, flops) << type;
    EXPECT_EQ(cost.bytes, bytes) << type;
  }
}

// ---- recognition of real calls

struct Row {
  std::string_view type;
  Pass pass;
  std::string fields;
};

/// What the outermost calls of kinds in a piece of work are recognised as.
struct Watch {
  std::vector<Row> rows;
  int64_t inside = 0;
};
Watch* watch = nullptr;

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  const OpKind* kind = kind_of(function.name());
  if (kind == nullptr || watch->inside++ > 0) return nullptr;
  for (const auto& type : op_types()) {
    if (type.name != kind->name) continue;
    for (const auto& [pass, fields] : type.recognise({function.name(), function.inputs()})) {
      watch->rows.push_back({type.name, pass, fields.dump()});
    }
  }
  return nullptr;
}

void on_end(const at::RecordFunction& function, at::ObserverContext* /*none*/) {
  if (kind_of(function.name()) != nullptr) --watch->inside;
}

/// Rows of `run` and of its backward pass.
std::vector<Row> recognised(const std::function<at::Tensor()>& run) {
  Watch all;
  watch = &all;
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback(on_start, on_end)
          .needsInputs(true)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE}));
  const at::Tensor result = run();
  result.backward(at::ones_like(result));
  at::removeCallback(handle);
  std::erase_if(all.rows, [](const Row& row) { return row.type == "matmul"; });
  return all.rows;
}

struct RealCall {
  const char* type;
  std::function<at::Tensor()> run;
  std::vector<std::pair<Pass, const char*>> rows;
};

at::Tensor leaf(at::IntArrayRef sizes) { return at::randn(sizes).requires_grad_(); }

std::vector<RealCall> real_calls() {
  const Pass forward = Pass::kForward;
  const Pass backward = Pass::kBackward;
  return {
      {"conv2d",
       [] {
         return at::conv2d(leaf({2, 4, 9, 7}), leaf({6, 2, 3, 2}), leaf({6}), {2, 1}, {1, 0}, 1, 2);
       },
       {{forward,
         R"({"n":2,"c":4,"k":6,"image":[9,7],"kernel":[3,2],"stride":[2,1],"padding":[1,0],"groups":2,"bias":true})"},
        {Pass::kDgrad,
         R"({"n":2,"c":4,"k":6,"image":[9,7],"kernel":[3,2],"stride":[2,1],"padding":[1,0],"groups":2})"},
        {Pass::kWgrad,
         R"({"n":2,"c":4,"k":6,"image":[9,7],"kernel":[3,2],"stride":[2,1],"padding":[1,0],"groups":2,"bias":true})"}}},
      {"conv2d",
       [] {
         return at::conv2d(at::randn({1, 3, 5, 5}), leaf({2, 3, 3, 3}));
       },
       {{forward, R"({"n":1,"c":3,"k":2,"image":[5,5],"kernel":[3,3]})"},
        {Pass::kWgrad, R"({"n":1,"c":3,"k":2,"image":[5,5],"kernel":[3,3]})"}}},
      {"max_pool",
       [] {
         return at::max_pool2d(leaf({2, 3, 9, 7}), {3, 3}, {2, 2}, {1, 1});
       },
       {{forward, R"({"sizes":[2,3,9,7],"kernel":[3,3],"stride":[2,2],"padding":[1,1]})"},
        {backward, R"({"sizes":[2,3,9,7],"kernel":[3,3],"stride":[2,2],"padding":[1,1]})"}}},
      {"max_pool",
       [] {
         return at::max_pool2d(leaf({2, 3, 8, 8}), {2, 2});
       },
       {{forward, R"({"sizes":[2,3,8,8],"kernel":[2,2]})"},
        {backward, R"({"sizes":[2,3,8,8],"kernel":[2,2]})"}}},
      {"avg_pool",
       [] {
         return at::adaptive_avg_pool2d(leaf({2, 3, 7, 7}), {1, 1});
       },
       {{forward, R"({"sizes":[2,3,7,7],"output":[1,1]})"}}},
      {"avg_pool",
       [] {
         return at::adaptive_avg_pool2d(leaf({2, 3, 7, 7}), {3, 2});
       },
       {{forward, R"({"sizes":[2,3,7,7],"output":[3,2]})"},
        {backward, R"({"sizes":[2,3,7,7],"output":[3,2]})"}}},
      {"batch_norm",
       [] {
         return at::batch_norm(leaf({2, 3, 5, 5}), leaf({3}), leaf({3}), at::zeros({3}),
                               at::ones({3}), true, 0.1, 1e-5, true);
       },
       {{forward, R"({"sizes":[2,3,5,5]})"}, {backward, R"({"sizes":[2,3,5,5]})"}}},
      {"local_response_norm",
       [] {
         return local_response_norm(leaf({2, 7, 3, 3}),
                                    {.size = 5, .alpha = 0.5, .beta = 0.75, .bias = 2});
       },
       {{forward, R"({"sizes":[2,7,3,3],"size":5,"alpha":0.5,"beta":0.75,"bias":2.0})"}}},
      {"lstm",
       [] {
         const at::Tensor start = at::zeros({2, 3, 4});
         const std::vector<at::Tensor> weights{leaf({16, 6}), leaf({16, 4}), leaf({16}),
                                               leaf({16}),    leaf({16, 4}), leaf({16, 4}),
                                               leaf({16}),    leaf({16})};
         return std::get<0>(
             at::lstm(leaf({5, 3, 6}), {start, start}, weights, true, 2, 0, true, false, false));
       },
       {{forward, R"({"steps":5,"n":3,"inputs":6,"width":4,"bias":true})"},
        {forward, R"({"steps":5,"n":3,"inputs":4,"width":4,"bias":true})"},
        {backward, R"({"steps":5,"n":3,"inputs":4,"width":4,"bias":true})"},
        {backward, R"({"steps":5,"n":3,"inputs":6,"width":4,"bias":true})"}}},
      {"lstm_cell",
       [] {
         return lstm_cell(leaf({3, 5}), {.h = leaf({3, 4}), .c = leaf({3, 4})}, leaf({16, 9}),
                          leaf({16}))
             .h;
       },
       {{forward, R"({"n":3,"inputs":5,"width":4})"}}},
      {"rnn",
       [] {
         return clipped_relu_rnn(leaf({5, 2, 3}), leaf({3, 3}), at::arange(4, 6),
                                 Direction::kBackward);
       },
       {{forward, R"({"frames":5,"n":2,"width":3,"reverse":true})"}}},
      {"attention",
       [] {
         return additive_attention(leaf({2, 5, 3}), leaf({2, 5, 4}), leaf({2, 4}), leaf({1, 4}));
       },
       {{forward, R"({"n":2,"places":5,"width":3,"query":4})"}}},
      {"sampled_softmax",
       [] {
         return sampled_softmax(leaf({2, 3, 4}), leaf({23, 4}), leaf({23}),
                                at::randint(23, {2, 3}, at::kLong), draw_log_uniform(2, 5, 23));
       },
       {{forward, R"({"positions":2,"n":3,"width":4,"classes":23,"candidates":5})"}}},
      {"ctc_loss",
       [] {
         return at::ctc_loss(leaf({9, 2, 5}), at::randint(1, 5, {5}, at::kInt),
                             at::arange(8, 10, at::kInt), at::arange(2, 4, at::kInt), 0,
                             at::Reduction::None, true);
       },
       {{forward, R"({"frames":9,"n":2,"classes":5,"labels":3})"},
        {backward, R"({"frames":9,"n":2,"classes":5,"labels":3})"}}},
      {"softmax",
       [] {
         return at::softmax(leaf({2, 5, 3}), 1);
       },
       {{forward, R"({"sizes":[2,5,3]})"}, {backward, R"({"sizes":[2,5,3]})"}}},
      {"softmax",
       [] {
         return at::softmax(leaf({2, 5, 3}), -1);
       },
       {{forward, R"({"sizes":[10,3]})"}, {backward, R"({"sizes":[10,3]})"}}},
      {"softmax_cross_entropy",
       [] {
         return at::cross_entropy_loss(leaf({5, 7}), at::randint(7, {5}, at::kLong));
       },
       {{forward, R"({"n":5,"classes":7})"}, {backward, R"({"n":5,"classes":7})"}}},
      {"softmax_cross_entropy",
       [] {
         return at::log_softmax(leaf({5, 7}), 1);
       },
       {}},
      {"embedding",
       [] {
         return at::embedding(leaf({11, 3}), at::randint(11, {2, 4}, at::kLong));
       },
       {{forward, R"({"rows":11,"width":3,"ids":8})"},
        {backward, R"({"rows":11,"width":3,"ids":8})"}}},
      {"embedding",
       [] {
         return at::embedding(leaf({11, 3}), at::randint(11, {2, 4}, at::kLong), -1, false, true);
       },
       {{forward, R"({"rows":11,"width":3,"ids":8})"},
        {backward, R"({"rows":11,"width":3,"ids":8,"sparse":true})"}}},
      {"gather",
       [] {
         return leaf({5, 4}).gather(1, at::randint(4, {5, 1}, at::kLong));
       },
       {{forward, R"({"sizes":[5,4],"picks":1})"}, {backward, R"({"sizes":[5,4],"picks":1})"}}},
  };
}

TEST(NetworkOpRecognition, GivesTheRowsOfRealCalls) {
  for (const auto& [type, run, expected] : real_calls()) {
    at::Tensor result;
    const auto rows = recognised([&run = run, &result] { return result = run(); });
    std::vector<std::pair<Pass, std::string>> found;
    for (const auto& row : rows) {
      if (row.type == type) found.emplace_back(row.pass, row.fields);
    }
    const std::vector<std::pair<Pass, std::string>> wanted(expected.begin(), expected.end());
    EXPECT_EQ(found, wanted) << type;
    for (const auto& [pass, fields] : found) {
      const auto op = make(type, pass, Json::parse(fields));
      const Tensors outputs = op->call(op->inputs(1))();
      // Ids of several axes are one list in a row.
      if (pass == Pass::kForward && found.size() <= 3) {
        EXPECT_EQ(outputs[0].numel(), result.numel()) << type;
      }
    }
  }
}

Seen seen(std::string_view name, const std::vector<c10::IValue>& arguments) {
  return {name, c10::ArrayRef<const c10::IValue>(arguments.data(), arguments.size())};
}

TEST(NetworkOpRecognition, LeavesOutWhatIsNotMeasured) {
  const std::vector<c10::IValue> transposed{at::randn({1, 3, 5, 5}),
                                            at::randn({3, 2, 3, 3}),
                                            c10::IValue(),
                                            std::vector<int64_t>{1, 1},
                                            std::vector<int64_t>{0, 0},
                                            std::vector<int64_t>{1, 1},
                                            true,
                                            std::vector<int64_t>{0, 0},
                                            1};
  EXPECT_TRUE(recognise_conv2d(seen("aten::convolution", transposed)).empty());
  EXPECT_TRUE(recognise_conv2d({"aten::mm", {}}).empty());
  const std::vector<c10::IValue> running{at::randn({2, 3}),
                                         at::ones({3}),
                                         at::ones({3}),
                                         at::zeros({3}),
                                         at::ones({3}),
                                         false,
                                         0.1,
                                         1e-5,
                                         true};
  EXPECT_TRUE(recognise_batch_norm(seen("aten::batch_norm", running)).empty());
  const std::vector<c10::IValue> corner{at::randn({5, 4}), 1, at::zeros({2, 1}, at::kLong), false};
  EXPECT_TRUE(recognise_gather(seen("aten::gather", corner)).empty());
}

// ---- fields

TEST(NetworkOpFields, AreChecked) {
  for (const auto& [type, fields] : std::vector<std::pair<const char*, const char*>>{
           {"conv2d",
            R"({"n": 1, "c": 3, "k": 4, "image": [5, 5], "kernel": [3, 3], "groups": 2})"},
           {"conv2d", R"({"n": 1, "c": 3, "k": 4, "image": [5, 5], "kernel": [7, 3]})"},
           {"conv2d", R"({"n": 1, "c": 3, "k": 4, "image": [5], "kernel": [3, 3]})"},
           {"conv2d",
            R"({"n": 1, "c": 3, "k": 4, "image": [5, 5], "kernel": [3, 3], "padding": [-1, 0]})"},
           {"max_pool", R"({"sizes": [1, 3, 4, 4], "kernel": [2, 2], "padding": [2, 0]})"},
           {"max_pool", R"({"sizes": [3, 4, 4], "kernel": [2, 2]})"},
           {"local_response_norm",
            R"({"sizes": [1, 2, 3, 4], "size": 4, "alpha": 1, "beta": 1, "bias": 1})"},
           {"sampled_softmax",
            R"({"positions": 1, "n": 1, "width": 1, "classes": 3, "candidates": 4})"},
           {"ctc_loss", R"({"frames": 3, "n": 1, "classes": 5, "labels": 4})"},
           {"softmax", R"({"sizes": [4]})"},
           {"embedding", R"({"rows": 0, "width": 1, "ids": 1})"},
           {"gather", R"({"sizes": [4], "picks": 1})"}}) {
    EXPECT_THROW(make(type, Pass::kForward, Json::parse(fields)), ShapeError) << type << fields;
  }
}

}  // namespace
}  // namespace fathom::ops
