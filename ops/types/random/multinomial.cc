#include "ops/kernels/multinomial.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/softmax.h>

#include <stdexcept>

#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/random/moments.h"

namespace fathom::ops {
namespace {

struct MultinomialShape {
  int64_t rows;
  int64_t classes;

  void visit(Fields& fields) {
    fields.extent("rows", rows);
    fields.extent("classes", classes);
  }
};

/// Draws a class from each row: {probabilities [rows, classes]} gives {classes [rows, 1], int64}.
/// Probabilities of fewer bits are converted to float, which a softmax in bf16 steps gives, too.
class Multinomial final : public Op {
 public:
  Multinomial(const MultinomialShape& shape, Pass /*pass*/)
      : rows_(shape.rows), classes_(shape.classes) {}

  Cost cost(fixtures::Precision /*precision*/) const override {
    return {.flops = 0,
            .bytes = element_bytes(fixtures::Precision::kFp32) * elements({rows_, classes_}) +
                     kIndexBytes * elements({rows_})};
  }

  Tensors inputs(uint64_t seed) const override {
    return {at::softmax(RandomInputs(seed).normal({rows_, classes_}), 1)};
  }

  Call call(const Tensors& in) const override {
    const bool wide = in[0].scalar_type() == at::kFloat || in[0].scalar_type() == at::kDouble;
    return [probabilities = wide ? in[0] : in[0].to(at::kFloat)]() -> Tensors {
      return {multinomial(probabilities)};
    };
  }

  /// Of the drawn classes, checks how many are the likeliest of their row, and how many have each
  /// bit set: any two classes differ in a bit.
  void check(const Tensors& inputs, const Tensors& outputs, fixtures::Precision /*precision*/,
             const Call& /*reference*/) const override {
    at::Tensor chances = inputs[0].to(at::TensorOptions(at::kDouble).device(at::kCPU));
    chances = chances / chances.sum(1, /*keepdim=*/true);
    const at::Tensor drawn = outputs[0].to(at::kCPU);
    if (drawn.scalar_type() != at::kLong || drawn.sizes() != at::IntArrayRef{rows_, 1})
      throw std::runtime_error("the classes have another shape or type than expected");
    if (drawn.lt(0).logical_or(drawn.ge(classes_)).any().item<bool>())
      throw std::runtime_error("a class is outside the probabilities");
    if (chances.gather(1, drawn).eq(0).any().item<bool>())
      throw std::runtime_error("a class of probability 0 was drawn");
    const auto [largest, likeliest] = chances.max(1, /*keepdim=*/true);
    expect_share(drawn.eq(likeliest), largest.mean().item<double>());
    const at::Tensor classes = at::arange(classes_);
    for (int64_t bit = 1; bit < classes_; bit *= 2) {
      const at::Tensor with_bit = chances.mul(classes.bitwise_and(bit).ne(0)).sum(1);
      expect_share(drawn.bitwise_and(bit).ne(0), with_bit.mean().item<double>());
    }
  }

 private:
  int64_t rows_;
  int64_t classes_;
};

/// multinomial(probabilities, draws, replacement, generator), and the scope's {probabilities}. Rows
/// have one draw.
std::vector<MatchedOp> match_multinomial(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  if (arguments.empty() || !is_plain(arguments[0])) return {};
  if (arguments.size() > 1 && arguments[1].toInt() != 1) return {};
  const at::Tensor& x = arguments[0].toTensor();
  return {matched(Pass::kForward,
                  MultinomialShape{.rows = x.numel() / x.size(-1), .classes = x.size(-1)})};
}

}  // namespace

OpType multinomial_type() {
  return {.name = "multinomial",
          .op_class = OpClass::kRandom,
          .aten = {"multinomial"},
          .passes = {Pass::kForward},
          .examples = {R"({"rows": 1001, "classes": 6})", R"({"rows": 3, "classes": 101})",
                       R"({"rows": 1, "classes": 1})"},
          .fields = fields_of<MultinomialShape>,
          .make = make_op<Multinomial, MultinomialShape>,
          .match = match_multinomial};
}

}  // namespace fathom::ops
