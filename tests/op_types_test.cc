#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cctype>
#include <cmath>

#include "ops/check.h"
#include "tests/op_rows.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;

std::string case_name(const Case& one) {
  std::string label = std::string(one.type) + "_" + std::string(name(one.pass)) + "_" + one.fields;
  std::string clean;
  for (const char c : label)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_')
      clean += c;
    else if (!clean.empty() && clean.back() != '_')
      clean += '_';
  return clean;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases{
      {"add", kForward, R"({"sizes": [5, 7], "other": [7]})"},
      {"add", kForward, R"({"sizes": [5, 1], "other": [3, 1, 7]})"},
      {"add", kForward, R"({"sizes": [5, 7], "number": true})"},
      {"add", kForward, R"({"sizes": [5, 7], "in_place": true})"},
      {"add", kForward, R"({"sizes": [5, 7], "other": [5, 1], "in_place": true})"},
      {"sub", kForward, R"({"sizes": [5, 7], "other": [1]})"},
      {"mul", kForward, R"({"sizes": [2, 3, 5], "other": [3, 1]})"},
      {"mul", kForward, R"({"sizes": [64, 257], "number": true})"},
      {"div", kForward, R"({"sizes": [1], "other": [17]})"},
      {"div", kForward, R"({"sizes": [5, 7], "number": true})"},
      {"bias_add", kForward, R"({"sizes": [13, 7]})"},
      {"bias_add", kForward, R"({"sizes": [1, 1]})"},
      {"batched_matmul", kForward, R"({"batch": 3, "m": 5, "n": 7, "k": 11})"},
      {"batched_matmul", kForward, R"({"batch": 2, "m": 5, "n": 1, "k": 3, "transpose_a": true})"},
      {"batched_matmul", kForward,
       R"({"batch": 1, "m": 13, "n": 4, "k": 1, "transpose_b": true, "addend": true})"},
      {"sum", kForward, R"({"sizes": [5, 7, 3]})"},
      {"sum", kForward, R"({"sizes": [5, 7, 3], "dims": [2, 0]})"},
      {"sum", kForward, R"({"sizes": [5, 7, 1], "dims": [1], "keepdim": true, "mean": true})"},
      {"sum", kForward, R"({"sizes": [1], "mean": true})"},
      {"arg_max", kForward, R"({"sizes": [5, 7], "dim": 1})"},
      {"arg_max", kForward, R"({"sizes": [5, 1, 3], "dim": 0, "keepdim": true})"},
      {"normal", kForward, R"({"sizes": [101, 97]})"},
      {"normal", kForward, R"({"sizes": [3]})"},
      {"uniform", kForward, R"({"sizes": [101, 97]})"},
      {"uniform", kForward, R"({"sizes": [1]})"},
      {"dropout", kForward, R"({"sizes": [101, 97], "p": 0.5})"},
      {"dropout", kForward, R"({"sizes": [3], "p": 0.1})"},
      {"dropout", kBackward, R"({"sizes": [11, 7], "p": 0.1})"},
      {"log_uniform", kForward, R"({"positions": 7, "candidates": 13, "classes": 100})"},
      {"log_uniform", kForward, R"({"positions": 1, "candidates": 1, "classes": 1})"},
      {"concat", kForward, R"({"tensors": [[5, 3], [5, 1], [5, 7]], "dim": 1})"},
      {"concat", kForward, R"({"tensors": [[3], [1]], "dim": 0})"},
      {"concat", kForward, R"({"tensors": [[5, 3], [5, 3]], "dim": 2, "stack": true})"},
      {"copy", kForward, R"({"sizes": [5, 3]})"},
      {"copy", kForward, R"({"sizes": [2, 5, 3], "transposed": true})"},
      {"transpose", kForward, R"({"sizes": [5, 3]})"},
      {"fill", kForward, R"({"sizes": [5, 3]})"},
      {"pad", kForward, R"({"sizes": [2, 3, 5], "padding": [1, 2, 0, 3]})"},
  };
  for (const char* type : {"relu", "clipped_relu", "sigmoid", "tanh", "exp", "sqrt", "square",
                           "neg", "huber_loss", "add", "sub", "mul", "div"}) {
    for (const char* sizes : {R"({"sizes": [1]})", R"({"sizes": [3, 1, 67]})"})
      for (const Pass pass : type_of(type).passes) cases.push_back({type, pass, sizes});
  }
  for (const char* type : {"sgd", "momentum", "adam", "adagrad", "rmsprop", "clip_norm"}) {
    for (const char* sizes : {R"({"tensors": [[1]]})", R"({"tensors": [[5, 7], [3], [1, 2, 3]]})"})
      cases.push_back({type, kUpdate, sizes});
  }
  return cases;
}

class Types : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<Op> op_ =
      made(GetParam().type, GetParam().pass, nlohmann::json::parse(GetParam().fields));

  struct Result {
    Tensors before;
    Tensors outputs;
  };
  Result run(at::ScalarType type) const {
    const Tensors inputs = converted(op_->inputs(7), type, at::kCPU);
    Tensors before;
    for (const auto& input : inputs) before.push_back(input.clone());
    const Call call = op_->call(inputs);
    const c10::InferenceMode inference;
    return {before, call()};
  }
};

INSTANTIATE_TEST_SUITE_P(Cases, Types, testing::ValuesIn(all_cases()),
                         [](const auto& one) { return case_name(one.param); });

TEST_P(Types, AcceptsItsResults) {
  for (const auto& [type, precision] :
       {std::pair{at::kFloat, Precision::kFp32}, std::pair{at::kBFloat16, Precision::kBf16}}) {
    if (GetParam().type == std::string("rmsprop") && precision == Precision::kBf16) {
      EXPECT_THROW(run(type), std::runtime_error);
      continue;
    }
    const auto result = run(type);
    EXPECT_NO_THROW(op_->check(result.before, result.outputs, precision));
  }
}

TEST_P(Types, RefusesAnElementThatIsOff) {
  const c10::InferenceMode inference;  // the results are of it
  auto [before, outputs] = run(at::kFloat);
  const at::Tensor last = outputs[0].flatten().slice(0, -1);
  last.add_(last.is_floating_point() ? at::Scalar(100.0) : at::Scalar(1000));
  if (GetParam().type == std::string("normal")) last.fill_(std::nan(""));
  EXPECT_THROW(op_->check(before, outputs, Precision::kFp32), std::runtime_error);
}

TEST_P(Types, RefusesNan) {
  const c10::InferenceMode inference;  // the results are of it
  auto [before, outputs] = run(at::kFloat);
  if (!outputs[0].is_floating_point()) GTEST_SKIP() << "integers";
  outputs[0].flatten().slice(0, 0, 1).fill_(std::nan(""));
  EXPECT_THROW(op_->check(before, outputs, Precision::kFp32), std::runtime_error);
}

TEST_P(Types, SaysWhetherItWritesIntoItsInputs) {
  const Tensors inputs = op_->inputs(7);
  Tensors before;
  for (const auto& input : inputs) before.push_back(input.clone());
  op_->call(inputs)();
  bool changed = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) changed |= !inputs[i].equal(before[i]);
  EXPECT_EQ(changed, op_->in_place());
}

TEST_P(Types, DrawsTheSameInputsOfASeed) {
  const Tensors a = op_->inputs(7);
  const Tensors b = op_->inputs(7);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].equal(b[i]));
}

TEST_P(Types, StaysFinite) {
  const Tensors inputs = op_->inputs(7);
  const Call call = op_->call(inputs);
  const c10::InferenceMode inference;
  for (int i = 0; i < 20; ++i) call();
  for (const auto& output : call())
    EXPECT_TRUE(output.to(at::kDouble).isfinite().all().item<bool>());
}

// ---- gradients

/// The backward call against autograd through the forward one, in float64.
TEST_P(Types, GivesTheGradientOfTheForwardPass) {
  if (GetParam().pass != kBackward || GetParam().type == std::string("dropout"))
    GTEST_SKIP() << "no gradient";
  const Tensors in = converted(op_->inputs(7), at::kDouble, at::kCPU);
  const at::Tensor found = op_->call(in)()[0];
  Tensors operands(in.begin() + 1, in.end());
  operands[0] = operands[0].detach().requires_grad_();
  const auto forward = made(GetParam().type, kForward, nlohmann::json::parse(GetParam().fields));
  const auto expected =
      torch::autograd::grad({forward->call(operands)()[0]}, {operands[0]}, {in[0]});
  EXPECT_TRUE(found.allclose(expected[0], 1e-12, 1e-14));
}

// ---- results by plain loops or another formula, in float64

at::Tensor exact(const char* type, Pass pass, const char* fields, Tensors* in) {
  const auto op = made(type, pass, nlohmann::json::parse(fields));
  *in = converted(op->inputs(3), at::kDouble, at::kCPU);
  Tensors held;
  for (const auto& one : *in) held.push_back(one.clone());
  return op->call(held)()[0].flatten();
}

struct Formula {
  const char* type;
  double (*of)(double x, double y);
};

class Formulas : public testing::TestWithParam<Formula> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, Formulas,
    testing::Values(
        Formula{"relu", [](double x, double) { return std::max(x, 0.0); }},
        Formula{"clipped_relu", [](double x, double) { return std::clamp(x, 0.0, 20.0); }},
        Formula{"sigmoid", [](double x, double) { return 1 / (1 + std::exp(-x)); }},
        Formula{"tanh", [](double x, double) { return std::tanh(x); }},
        Formula{"add", [](double x, double y) { return x + y; }},
        Formula{"sub", [](double x, double y) { return x - y; }},
        Formula{"mul", [](double x, double y) { return x * y; }},
        Formula{"div", [](double x, double y) { return x / y; }},
        Formula{"exp", [](double x, double) { return std::exp(x); }},
        Formula{"sqrt", [](double x, double) { return std::sqrt(x); }},
        Formula{"square", [](double x, double) { return x * x; }},
        Formula{"neg", [](double x, double) { return -x; }},
        Formula{"sgd", [](double p, double g) { return p - 0.01 * g; }},
        Formula{"momentum", [](double p, double g) { return p - 0.01 * (g + 5e-4 * p); }},
        Formula{"adam",  // bias-corrected, the first step is g / |g|
                [](double p, double g) { return p - 1e-3 * g / (std::abs(g) + 1e-8); }},
        Formula{"adagrad",
                [](double p, double g) {
                  const double decayed = g + p / 60'000;
                  return p - 0.01 * decayed / (std::abs(decayed) + 1e-10);
                }}),
    [](const auto& one) { return std::string(one.param.type); });

TEST_P(Formulas, HoldForEveryElement) {
  const bool update = type_of(GetParam().type).passes[0] == kUpdate;
  Tensors in;
  const at::Tensor found = exact(GetParam().type, update ? kUpdate : kForward,
                                 update ? R"({"tensors": [[101]]})" : R"({"sizes": [101]})", &in);
  for (int64_t i = 0; i < 101; ++i) {
    const double y = in.size() > 1 ? in[1][i].item<double>() : 0;
    EXPECT_NEAR(found[i].item<double>(), GetParam().of(in[0][i].item<double>(), y), 1e-12);
  }
}

TEST(HuberLoss, IsSquaredToOneAndLinearBeyond) {
  Tensors in;
  const at::Tensor found = exact("huber_loss", kForward, R"({"sizes": [101]})", &in);
  double sum = 0;
  for (int64_t i = 0; i < 101; ++i) {
    const double off = std::abs((in[0][i] - in[1][i]).item<double>());
    sum += off < 1 ? off * off / 2 : off - 0.5;
  }
  EXPECT_NEAR(found[0].item<double>(), sum, 1e-10);
}

TEST(ClipNorm, ScalesAllGradientsToTheLargestNorm) {
  const auto op = made("clip_norm", kUpdate, nlohmann::json{{"tensors", {{3, 5}, {7}}}});
  const Tensors in = converted(op->inputs(3), at::kDouble, at::kCPU);
  const at::Tensor before = in[1].clone();
  const double norm = std::sqrt((in[0].square().sum() + in[1].square().sum()).item<double>());
  op->call(in)();
  EXPECT_TRUE(in[1].allclose(before * 0.1 / norm, 1e-4));
  EXPECT_NEAR((in[0].square().sum() + in[1].square().sum()).item<double>(), 0.01, 1e-6);
}

TEST(BatchedMatmul, SumsProductsOfTransposedFactors) {
  Tensors in;
  const at::Tensor found = exact("batched_matmul", kForward,
                                 R"({"batch": 2, "m": 3, "n": 5, "k": 7, "transpose_a": true,
                                     "transpose_b": true, "addend": true})",
                                 &in);
  const at::Tensor expected =
      (in[0].transpose(1, 2).unsqueeze(3) * in[1].transpose(1, 2).unsqueeze(1)).sum(2) + in[2];
  EXPECT_TRUE(found.allclose(expected.flatten()));
}

// ---- random draws of the wrong kind

TEST(RandomChecks, RefuseAnotherDistribution) {
  const nlohmann::json row{{"sizes", {100, 100}}};
  const at::Tensor normal = at::randn({100, 100});
  for (const auto& wrong :
       {normal * 1.1, normal + 0.1, at::zeros({100, 100}), normal.slice(0, 1), normal.abs()})
    EXPECT_THROW(made("normal", kForward, row)->check({}, {wrong}, Precision::kFp32),
                 std::runtime_error);
  EXPECT_THROW(made("uniform", kForward, row)->check({}, {normal}, Precision::kFp32),
               std::runtime_error);
  const auto dropout = made("dropout", kForward, {{"sizes", {100, 100}}, {"p", 0.5}});
  for (const double p : {0.0, 0.4, 0.6}) {
    const at::Tensor kept = at::empty_like(normal).uniform_().ge(p);
    EXPECT_THROW(dropout->check({normal}, {normal * 2 * kept}, Precision::kFp32),
                 std::runtime_error);
  }
}

TEST(RandomChecks, RefuseCandidatesThatRepeat) {
  const auto op =
      made("log_uniform", kForward, {{"positions", 2}, {"candidates", 3}, {"classes", 9}});
  const Tensors drawn = op->call({})();
  drawn[0][1][2].copy_(drawn[0][1][0]);
  EXPECT_THROW(op->check({}, drawn, Precision::kFp32), std::runtime_error);
}

// ---- cost

struct CostCase {
  Case op;
  double flops;
  double bytes;  ///< fp32
};

TEST(Cost, CountsEveryOperandOnce) {
  const std::vector<CostCase> cases{
      {{"relu", kForward, R"({"sizes": [3, 5]})"}, 0, 4 * 30},
      {{"relu", kBackward, R"({"sizes": [3, 5]})"}, 0, 4 * 45},
      {{"add", kForward, R"({"sizes": [3, 5], "other": [5]})"}, 15, 4 * 35},
      {{"add", kForward, R"({"sizes": [3, 5], "in_place": true})"}, 15, 4 * 45},
      {{"add", kForward, R"({"sizes": [3, 5], "number": true})"}, 15, 4 * 30},
      {{"add", kForward, R"({"sizes": [3, 1], "other": [5]})"}, 15, 4 * 23},
      {{"huber_loss", kForward, R"({"sizes": [15]})"}, 0, 4 * 31},
      {{"huber_loss", kBackward, R"({"sizes": [15]})"}, 0, 4 * 46},
      {{"bias_add", kForward, R"({"sizes": [3, 5]})"}, 15, 4 * 35},
      {{"batched_matmul", kForward, R"({"batch": 2, "m": 3, "n": 5, "k": 7, "addend": true})"},
       2 * 2 * 3 * 5 * 7,
       4 * 2 * (21 + 35 + 30)},
      {{"sum", kForward, R"({"sizes": [3, 5], "dims": [1]})"}, 15, 4 * 18},
      {{"sum", kForward, R"({"sizes": [3, 5]})"}, 15, 4 * 16},
      {{"arg_max", kForward, R"({"sizes": [3, 5], "dim": 1})"}, 0, 4 * 15 + 8 * 3},
      {{"sgd", kUpdate, R"({"tensors": [[3, 5], [2]]})"}, 2 * 17, 4 * 3 * 17},
      {{"adam", kUpdate, R"({"tensors": [[17]]})"}, 10 * 17, 4 * 7 * 17},
      {{"concat", kForward, R"({"tensors": [[2], [3]], "dim": 0})"}, 0, 4 * 10},
      {{"copy", kForward, R"({"sizes": [3, 5]})"}, 0, 4 * 30},
      {{"fill", kForward, R"({"sizes": [3, 5]})"}, 0, 4 * 15},
      {{"pad", kForward, R"({"sizes": [3, 5], "padding": [1, 1]})"}, 0, 4 * (15 + 21)},
      {{"log_uniform", kForward, R"({"positions": 2, "candidates": 3, "classes": 9})"}, 0, 56},
  };
  for (const auto& [op, flops, bytes] : cases) {
    SCOPED_TRACE(case_name(op));
    const auto cost =
        made(op.type, op.pass, nlohmann::json::parse(op.fields))->cost(Precision::kFp32);
    EXPECT_EQ(cost.flops, flops);
    EXPECT_EQ(cost.bytes, bytes);
  }
}

// ---- fields

TEST(TypeFields, ThatDoNotFitAreRefused) {
  for (const Case& one :
       {Case{"add", kForward, R"({"sizes": [5, 7], "other": [6]})"},
        Case{"add", kForward, R"({"sizes": [7], "other": [5, 7], "in_place": true})"},
        Case{"add", kForward, R"({"sizes": [7], "number": true, "in_place": true})"},
        Case{"relu", kForward, R"({"sizes": [7], "other": [7]})"},
        Case{"sum", kForward, R"({"sizes": [7], "dims": [1]})"},
        Case{"sum", kForward, R"({"sizes": [7, 7], "dims": [1, 1]})"},
        Case{"sum", kForward, R"({"sizes": [7, 7], "dims": [-1]})"},
        Case{"arg_max", kForward, R"({"sizes": [7], "dim": 1})"},
        Case{"dropout", kForward, R"({"sizes": [7], "p": 1})"},
        Case{"dropout", kForward, R"({"sizes": [7], "p": "0.5"})"},
        Case{"log_uniform", kForward, R"({"positions": 2, "candidates": 9, "classes": 8})"},
        Case{"concat", kForward, R"({"tensors": [[2, 3], [2, 4]], "dim": 0})"},
        Case{"concat", kForward, R"({"tensors": [[2, 3], [2]], "dim": 1})"},
        Case{"concat", kForward, R"({"tensors": [[2, 3]], "dim": 2})"},
        Case{"concat", kForward, R"({"tensors": [], "dim": 0})"},
        Case{"sgd", kUpdate, R"({"tensors": [3]})"},
        Case{"copy", kForward, R"({"sizes": [3], "transposed": true})"},
        Case{"transpose", kForward, R"({"sizes": [3]})"},
        Case{"pad", kForward, R"({"sizes": [3], "padding": [1]})"},
        Case{"pad", kForward, R"({"sizes": [3], "padding": [1, 1, 1, 1]})"}}) {
    EXPECT_THROW(made(one.type, one.pass, nlohmann::json::parse(one.fields)), ShapeError)
        << case_name(one);
  }
}

}  // namespace
}  // namespace fathom::ops
