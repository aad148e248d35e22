#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "ops/check.h"
#include "ops/lstm_cell.h"
#include "tests/make_op.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;
using Json = nlohmann::ordered_json;
using tests::make_op;
using tests::op_type;

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
    for (const Pass pass : op_type(one.type).passes) {
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
    return make_op(GetParam().of->type, GetParam().pass, GetParam().of->fields);
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
      wrong[i].view(-1)[-1] += wrong[i].is_floating_point() ? 5 : 3;
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
  const auto forward = make_op(type, Pass::kForward, one->fields);
  const auto backward = make_op(type, pass, one->fields);
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
      make_op("lstm", Pass::kForward,
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
  const auto op = make_op("ctc_loss", Pass::kForward,
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
    const Cost cost = make_op(type, pass, Json::parse(fields))->cost(Precision::kFp32);
    EXPECT_EQ(cost.flops, flops) << type;
    EXPECT_EQ(cost.bytes, bytes) << type;
  }
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
    EXPECT_THROW(make_op(type, Pass::kForward, Json::parse(fields)), ShapeError) << type << fields;
  }
}

}  // namespace
}  // namespace fathom::ops
