// Types that make one element of each element. In place (but for sums of gradients) they are
// measured as their other form, which writes as many bytes: over held inputs they would soon
// overflow or vanish.
#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>

#include <utility>

#include "ops/core/buffer.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/clipped_relu_rnn.h"
#include "ops/types/elementwise/elementwise_rules.h"
#include "ops/types/kinds.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

using Rule = ElementwiseRule;

struct Shape {
  std::vector<int64_t> x;
  std::vector<int64_t> y;    ///< empty for none
  std::vector<int64_t> out;  ///< empty for a loss
  bool in_place = false;     ///< into x
};

/// What cuDNN has of them.
bool is_activation(UnaryProblem::Kind kind) {
  using Kind = UnaryProblem::Kind;
  return kind == Kind::kRelu || kind == Kind::kBetween || kind == Kind::kSigmoid ||
         kind == Kind::kTanh;
}

/// Forward inputs {x} or {x, y}, output {out}; backward inputs {gradient of out, x, ...}, output
/// {gradient of x}.
class Elementwise final : public Op {
 public:
  Elementwise(const Rule& rule, Shape shape, Pass pass)
      : rule_(rule), shape_(std::move(shape)), backward_(pass == Pass::kBackward) {}

  Cost cost(fixtures::Precision precision) const override {
    const double x = elements(shape_.x);
    const double out = elements(shape_.out);
    double touched = x + out + (shape_.y.empty() ? 0 : elements(shape_.y));
    if (backward_) touched += x;
    return {.flops = backward_ ? 0 : rule_.flops * out,
            .bytes = element_bytes(precision) * touched};
  }

  Tensors inputs(uint64_t seed) const override {
    Draws draw(seed);
    Tensors made;
    if (backward_) made.push_back(draw.normal(shape_.out));
    made.push_back(values(draw, rule_.operands[0], shape_.x));
    if (!shape_.y.empty()) made.push_back(values(draw, rule_.operands[1], shape_.y));
    return made;
  }

  Call call(const Tensors& in) const override {
    if (backward_) {
      const Tensors operands(in.begin() + 1, in.end());
      const at::Tensor left = rule_.forward(operands);
      return [=, backward = rule_.backward, gradient = in[0]]() -> Tensors {
        return {backward(gradient, left, operands)};
      };
    }
    if (shape_.in_place) return [x = in[0], y = in[1]]() -> Tensors { return {x.add_(y)}; };
    if (rule_.binary() && shape_.y.empty()) {
      return [with_number = rule_.with_number, x = in[0]]() -> Tensors { return {with_number(x)}; };
    }
    return [forward = rule_.forward, in]() -> Tensors { return {forward(in)}; };
  }

  bool in_place() const override { return shape_.in_place; }

  /// Vendors' binary ops repeat elements of the second operand only.
  std::vector<Backend> backends() const override {
    const bool of_two = !shape_.y.empty();
    const bool vendor = of_two ? rule_.of_two && !shape_.in_place && shape_.out == shape_.x
                               : rule_.unary.has_value();
    if (!vendor) return {Backend::kTorch};
    if (of_two || !is_activation(*rule_.unary)) return {Backend::kTorch, Backend::kOneDnn};
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    if (!shape_.y.empty()) {
      std::vector<int64_t> y = shape_.y;
      y.insert(y.begin(), shape_.x.size() - y.size(), 1);
      return BinaryProblem{.kind = *rule_.of_two,
                           .a = buffer(in[0]),
                           .b = buffer(in[1].view(y)),
                           .out = buffer(out[0])};
    }
    UnaryProblem problem{.kind = *rule_.unary,
                         .x = buffer(in[backward_ ? 1 : 0]),
                         .y = buffer(backward_ ? in[0] : out[0]),
                         .constants = rule_.constants};
    if (backward_) problem.dx = buffer(out[0]);
    return problem;
  }

 private:
  static at::Tensor values(Draws& draw, Values values, at::IntArrayRef sizes) {
    switch (values) {
      case Values::kPositive:
        return draw.uniform(sizes, 0.5, 2);
      case Values::kBeyondClip:
        return draw.normal(sizes, kClip / 2);
      default:
        return draw.normal(sizes);
    }
  }

  const Rule& rule_;
  Shape shape_;
  bool backward_;
};

/// {"sizes"} of x, "other" of y where it differs or "number": true; "in_place": true for add.
std::unique_ptr<Op> make(const Rule& rule, Fields& fields, Pass pass) {
  Shape shape;
  shape.x = shape.out = fields.sizes("sizes");
  if (rule.binary()) shape.y = shape.x;
  if (rule.with_number != nullptr) {
    if (fields.has("other")) shape.y = fields.sizes("other");
    if (fields.flag("number")) shape.y.clear();
    if (!at::are_expandable(shape.x, shape.y))
      fields.fail("\"other\" does not broadcast with \"sizes\"");
    shape.out = at::infer_size(shape.x, shape.y);
  }
  if (rule.name == "add" && fields.flag("in_place")) {
    shape.in_place = true;
    if (shape.y.empty() || shape.out != shape.x)
      fields.fail("\"in_place\" is true, expected an \"other\" that fits into \"sizes\"");
  }
  if (rule.name == "huber_loss") shape.out.clear();
  return std::make_unique<Elementwise>(rule, std::move(shape), pass);
}

/// What an operand spans in memory: an expanded one is small.
std::vector<int64_t> spanned(const at::Tensor& tensor) {
  auto sizes = extents(tensor);
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.stride(i) == 0) sizes[static_cast<std::size_t>(i)] = 1;
  }
  return sizes;
}

bool is_plain_number(const c10::IValue& argument) {
  return argument.isScalar() ||
         (argument.isTensor() && argument.toTensor().unsafeGetTensorImpl()->is_wrapped_number());
}

std::vector<SeenOp> recognise(const Rule& rule, const Seen& seen) {
  const OpKind* kind = kind_of(seen.name);
  if (kind == nullptr || kind->name != rule.name || seen.arguments.empty()) return {};
  if (rule.is_type != nullptr && !rule.is_type(seen)) return {};
  const bool backward = seen.name.ends_with("_backward");
  const c10::IValue& x = seen.arguments[backward ? 1 : 0];
  if (!is_plain(x)) return {};
  nlohmann::ordered_json fields;
  fields["sizes"] = extents(x.toTensor());
  if (rule.with_number != nullptr) {
    const c10::IValue& y = seen.arguments[1];
    if (is_plain_number(y)) {
      fields["number"] = true;
    } else if (!is_plain(y)) {
      return {};
    } else {
      const auto other = spanned(y.toTensor());
      if (other != extents(x.toTensor())) fields["other"] = other;
      if (seen.name == "aten::add_") fields["in_place"] = true;
    }
  }
  return {{backward ? Pass::kBackward : Pass::kForward, fields}};
}

}  // namespace

std::vector<OpType> elementwise_types() {
  std::vector<OpType> types;
  for (const Rule& rule : elementwise_rules()) {
    std::vector<Pass> passes{Pass::kForward};
    if (rule.backward != nullptr) passes.push_back(Pass::kBackward);
    types.push_back({rule.name, passes,
                     [&rule](Fields& fields, Pass pass) { return make(rule, fields, pass); },
                     [&rule](const Seen& seen) { return recognise(rule, seen); }});
  }
  return types;
}

}  // namespace fathom::ops
