// Element-wise ops. In-place calls whose values would overflow or vanish if they were repeated are
// timed out of place.
#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>

#include <utility>

#include "ops/core/buffer.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/recurrent/clipped_relu_rnn.h"
#include "ops/types/elementwise/elementwise_rules.h"

namespace fathom::ops {
namespace {

using Rule = ElementwiseRule;

struct ElementwiseShape {
  const Rule* rule;
  Sizes x = {};
  Sizes y = {};           ///< extents of the second operand
  bool number = false;    ///< the second operand is a plain number
  bool in_place = false;  ///< the result is written into x

  void visit(Fields& fields) {
    fields.sizes("sizes", x);
    if (rule->with_number == nullptr) {
      y = x;
    } else {
      fields.sizes("other", y, x, "sizes");
      fields.flag("number", number);
    }
    fields.require(!number || y == x, "\"number\" is true, expected no \"other\"");
    const bool fits = at::are_expandable(x, y);
    fields.require(fits, "\"other\" does not broadcast with \"sizes\"");
    if (rule->in_place == nullptr) return;
    fields.flag("in_place", in_place);
    fields.require(!in_place || (!number && fits && at::infer_size(x, y) == x),
                   "\"in_place\" is true, expected an \"other\" that fits into \"sizes\"");
  }

  /// Whether both operands are tensors.
  bool has_two_tensors() const { return rule->binary() && !number; }

  /// Extents of the result; empty for a loss.
  Sizes out() const {
    if (rule->loss) return {};
    return has_two_tensors() ? Sizes(at::infer_size(x, y)) : x;
  }
};

/// Whether cuDNN has an activation of this kind.
bool is_activation(UnaryProblem::Kind kind) {
  using Kind = UnaryProblem::Kind;
  return kind == Kind::kRelu || kind == Kind::kClamp || kind == Kind::kSigmoid ||
         kind == Kind::kTanh;
}

/// Forward inputs {x} or {x, y}, output {out}; backward inputs {gradient of out, x, ...}, output
/// {gradient of x}.
class Elementwise final : public Op {
 public:
  Elementwise(const Rule& rule, ElementwiseShape shape, Pass pass)
      : rule_(rule),
        shape_(std::move(shape)),
        out_(shape_.out()),
        backward_(pass == Pass::kBackward) {}

  Cost cost(fixtures::Precision precision) const override {
    const double x = elements(shape_.x);
    const double out = elements(out_);
    double touched = x + out + (shape_.has_two_tensors() ? elements(shape_.y) : 0);
    if (backward_) touched += x;
    return {.flops = backward_ ? 0 : rule_.flops * out,
            .bytes = element_bytes(precision) * touched};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draw(seed);
    Tensors made;
    if (backward_) made.push_back(draw.normal(out_));
    made.push_back(values(draw, rule_.operands[0], shape_.x));
    if (shape_.has_two_tensors()) made.push_back(values(draw, rule_.operands[1], shape_.y));
    return made;
  }

  Call call(const Tensors& in) const override {
    if (backward_) {
      const Tensors operands(in.begin() + 1, in.end());
      const at::Tensor result = rule_.forward(operands);
      return [=, backward = rule_.backward, gradient = in[0]]() -> Tensors {
        return {backward(gradient, result, operands)};
      };
    }
    if (shape_.in_place) {
      return [in_place = rule_.in_place, in]() -> Tensors { return {in_place(in)}; };
    }
    if (shape_.number) {
      return [with_number = rule_.with_number, x = in[0]]() -> Tensors { return {with_number(x)}; };
    }
    return [forward = rule_.forward, in]() -> Tensors { return {forward(in)}; };
  }

  bool in_place() const override { return shape_.in_place && !backward_; }

  /// Vendors' binary ops broadcast only the second operand. A vendor's unary op writes its result
  /// into another buffer, also where LibTorch's works in place.
  std::vector<Backend> backends() const override {
    const bool two_tensors = shape_.has_two_tensors();
    const bool vendor = two_tensors ? rule_.binary_kind && !shape_.in_place && out_ == shape_.x
                                    : rule_.unary_kind.has_value();
    if (!vendor) return {Backend::kTorch};
    if (two_tensors || !is_activation(*rule_.unary_kind))
      return {Backend::kTorch, Backend::kOneDnn};
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    if (shape_.has_two_tensors()) {
      Sizes y = shape_.y;
      y.insert(y.begin(), shape_.x.size() - y.size(), 1);
      return BinaryProblem{.kind = *rule_.binary_kind,
                           .a = buffer(in[0]),
                           .b = buffer(in[1].view(y)),
                           .out = buffer(out[0])};
    }
    UnaryProblem problem{.kind = *rule_.unary_kind,
                         .x = buffer(in[backward_ ? 1 : 0]),
                         .y = buffer(backward_ ? in[0] : out[0]),
                         .constants = rule_.constants};
    if (backward_) problem.dx = buffer(out[0]);
    return problem;
  }

 private:
  static at::Tensor values(RandomInputs& draw, Values values, at::IntArrayRef sizes) {
    switch (values) {
      case Values::kPositive:
        return draw.uniform(sizes, 0.5, 2);
      case Values::kShare:
        return draw.uniform(sizes, 0, 1);
      case Values::kBeyondClip: {
        // No value is so near to the clip that bf16 rounds it there: libraries have different
        // gradients at the clip.
        const at::Tensor drawn = draw.normal(sizes, kClip / 2);
        return drawn.masked_fill((drawn - kClip).abs() < kClip / 64, kClip + 1);
      }
      default:
        return draw.normal(sizes);
    }
  }

  const Rule& rule_;
  ElementwiseShape shape_;
  Sizes out_;
  bool backward_;
};

bool is_plain_number(const c10::IValue& argument) {
  return argument.isScalar() ||
         (argument.isTensor() && argument.toTensor().unsafeGetTensorImpl()->is_wrapped_number());
}

std::vector<MatchedOp> match(const Rule& rule, const ObservedCall& call) {
  if (rule.is_type != nullptr && !rule.is_type(call)) return {};
  const c10::IValue& x = call.arguments[is_gradient(call) ? 1 : 0];
  if (!is_plain(x)) return {};
  ElementwiseShape shape{.rule = &rule, .x = tensor_sizes(x.toTensor())};
  shape.y = shape.x;
  if (rule.with_number != nullptr) {
    const c10::IValue& y = call.arguments[1];
    shape.number = is_plain_number(y);
    if (!shape.number) {
      if (!is_plain(y)) return {};
      shape.y = spanned_sizes(y.toTensor());
    }
  }
  shape.in_place = rule.in_place != nullptr && !shape.number && call.name.ends_with('_');
  return {matched(call, std::move(shape))};
}

std::vector<std::string_view> examples(const Rule& rule) {
  // A loss of few elements, so that an error of one number shows in bf16.
  std::vector<std::string_view> rows{
      R"({"sizes": [1]})", rule.loss ? R"({"sizes": [3, 1, 17]})" : R"({"sizes": [3, 1, 67]})"};
  if (rule.with_number != nullptr) {
    for (const char* row :
         {R"({"sizes": [5, 7], "other": [7]})", R"({"sizes": [5, 1], "other": [3, 1, 7]})",
          R"({"sizes": [1], "other": [17]})", R"({"sizes": [64, 257], "number": true})"})
      rows.emplace_back(row);
  }
  if (rule.in_place != nullptr) {
    rows.emplace_back(R"({"sizes": [5, 7], "in_place": true})");
    if (rule.binary()) rows.emplace_back(R"({"sizes": [5, 7], "other": [5, 1], "in_place": true})");
  }
  return rows;
}

}  // namespace

std::vector<OpType> elementwise_types() {
  std::vector<OpType> types;
  for (const Rule& rule : elementwise_rules()) {
    std::vector<Pass> passes{Pass::kForward};
    if (rule.backward != nullptr) passes.push_back(Pass::kBackward);
    types.push_back(
        {.name = rule.name,
         .op_class = OpClass::kElementwise,
         .aten = rule.aten,
         .passes = passes,
         .examples = examples(rule),
         .fields = [&rule](Fields& fields) { read_shape(fields, ElementwiseShape{.rule = &rule}); },
         .make = make_member<Elementwise>(rule, ElementwiseShape{.rule = &rule}),
         .match = [&rule](const ObservedCall& call) { return match(rule, call); }});
  }
  return types;
}

}  // namespace fathom::ops
