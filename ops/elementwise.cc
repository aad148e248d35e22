// Types that make one element of each element: a table of what LibTorch calls them, forward and
// backward. In place (but for sums of gradients) they are measured as their other form, which
// writes as many bytes: over held inputs they would soon overflow or vanish.
#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/hardtanh_backward.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/huber_loss_backward.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tanh_backward.h>
#include <ATen/ops/threshold_backward.h>

#include <array>
#include <optional>
#include <utility>

#include "ops/clipped_relu_rnn.h"
#include "ops/draws.h"
#include "ops/extents.h"
#include "ops/kinds.h"
#include "ops/table.h"

namespace fathom::ops {
namespace {

constexpr double kNumber = 0.75;   // a plain number as second operand
constexpr double kHuberDelta = 1;  // where it turns linear, as in deepq

enum class Values { kNone, kNormal, kPositive, kBeyondClip };

/// One type, over operands {x} or {x, y}.
struct Rule {
  std::string_view name;
  std::array<Values, 2> operands;
  double flops;  ///< an output element
  at::Tensor (*forward)(const Tensors& in);
  /// Where y can be a plain number.
  at::Tensor (*with_number)(const at::Tensor& x) = nullptr;
  /// The gradient to x, of the output's gradient and what the forward pass leaves; null where
  /// autograd makes it of other types.
  at::Tensor (*backward)(const at::Tensor& gradient, const at::Tensor& left,
                         const Tensors& in) = nullptr;
  /// What makes a call of the kind's ATen names this type; null for all calls.
  bool (*is_type)(const Seen& seen) = nullptr;

  bool binary() const { return operands[1] != Values::kNone; }
};

constexpr Values kX = Values::kNormal;
constexpr Values kNone = Values::kNone;

bool is_number(const c10::IValue& argument, double wanted) {
  return argument.isScalar() && argument.toScalar().to<double>() == wanted;
}

bool is_relu(const Seen& seen) {  // and not another bound from below
  return !seen.name.starts_with("aten::clamp_min") || is_number(seen.arguments[1], 0);
}

bool is_clipped_relu(const Seen& seen) {
  const std::size_t low = seen.name == "aten::hardtanh_backward" ? 2 : 1;
  return is_number(seen.arguments[low], 0) && is_number(seen.arguments[low + 1], kClip);
}

bool is_square(const Seen& seen) {
  return seen.arguments.size() == 1 || is_number(seen.arguments[1], 2);
}

bool is_huber_sum(const Seen& seen) {
  const std::size_t reduction = seen.name == "aten::huber_loss" ? 2 : 3;
  return is_number(seen.arguments[reduction], at::Reduction::Sum);
}

constexpr std::array kRules{
    Rule{.name = "relu",
         .operands = {kX, kNone},
         .flops = 0,
         .forward = [](const Tensors& in) { return at::relu(in[0]); },
         .backward = [](const at::Tensor& g, const at::Tensor& left,
                        const Tensors& /*in*/) { return at::threshold_backward(g, left, 0); },
         .is_type = is_relu},
    Rule{.name = "clipped_relu",
         .operands = {Values::kBeyondClip, kNone},
         .flops = 0,
         .forward = [](const Tensors& in) { return at::hardtanh(in[0], 0, kClip); },
         .backward = [](const at::Tensor& g, const at::Tensor& /*left*/,
                        const Tensors& in) { return at::hardtanh_backward(g, in[0], 0, kClip); },
         .is_type = is_clipped_relu},
    Rule{.name = "sigmoid",
         .operands = {kX, kNone},
         .flops = 0,
         .forward = [](const Tensors& in) { return at::sigmoid(in[0]); },
         .backward = [](const at::Tensor& g, const at::Tensor& left,
                        const Tensors& /*in*/) { return at::sigmoid_backward(g, left); }},
    Rule{.name = "tanh",
         .operands = {kX, kNone},
         .flops = 0,
         .forward = [](const Tensors& in) { return at::tanh(in[0]); },
         .backward = [](const at::Tensor& g, const at::Tensor& left,
                        const Tensors& /*in*/) { return at::tanh_backward(g, left); }},
    Rule{.name = "add",
         .operands = {kX, kX},
         .flops = 1,
         .forward = [](const Tensors& in) { return at::add(in[0], in[1]); },
         .with_number = [](const at::Tensor& x) { return at::add(x, kNumber); }},
    Rule{.name = "sub",
         .operands = {kX, kX},
         .flops = 1,
         .forward = [](const Tensors& in) { return at::sub(in[0], in[1]); },
         .with_number = [](const at::Tensor& x) { return at::sub(x, kNumber); }},
    Rule{.name = "mul",
         .operands = {kX, kX},
         .flops = 1,
         .forward = [](const Tensors& in) { return at::mul(in[0], in[1]); },
         .with_number = [](const at::Tensor& x) { return at::mul(x, kNumber); }},
    Rule{.name = "div",
         .operands = {kX, Values::kPositive},
         .flops = 0,
         .forward = [](const Tensors& in) { return at::div(in[0], in[1]); },
         .with_number = [](const at::Tensor& x) { return at::div(x, kNumber); }},
    Rule{.name = "exp",
         .operands = {kX, kNone},
         .flops = 0,
         .forward = [](const Tensors& in) { return at::exp(in[0]); }},
    Rule{.name = "sqrt",
         .operands = {Values::kPositive, kNone},
         .flops = 0,
         .forward = [](const Tensors& in) { return at::sqrt(in[0]); }},
    Rule{.name = "square",
         .operands = {kX, kNone},
         .flops = 1,
         .forward = [](const Tensors& in) { return at::square(in[0]); },
         .is_type = is_square},
    Rule{.name = "neg",
         .operands = {kX, kNone},
         .flops = 0,
         .forward = [](const Tensors& in) { return at::neg(in[0]); }},
    Rule{.name = "huber_loss",
         .operands = {kX, kX},
         .flops = 0,
         .forward =
             [](const Tensors& in) {
               return at::huber_loss(in[0], in[1], at::Reduction::Sum, kHuberDelta);
             },
         .backward =
             [](const at::Tensor& g, const at::Tensor& /*left*/, const Tensors& in) {
               return at::huber_loss_backward(g, in[0], in[1], at::Reduction::Sum, kHuberDelta);
             },
         .is_type = is_huber_sum},
};

struct Shape {
  std::vector<int64_t> x;
  std::vector<int64_t> y;    ///< empty for none
  std::vector<int64_t> out;  ///< empty for a loss
  bool in_place = false;     ///< into x
};

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

/// Extents of x and y together; none where they don't go together.
std::optional<std::vector<int64_t>> broadcast(at::IntArrayRef x, at::IntArrayRef y) {
  std::vector<int64_t> out(std::max(x.size(), y.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {  // from the last
    const int64_t a = i < x.size() ? x[x.size() - 1 - i] : 1;
    const int64_t b = i < y.size() ? y[y.size() - 1 - i] : 1;
    if (a != b && a != 1 && b != 1) return {};
    out[out.size() - 1 - i] = a == 1 ? b : a;
  }
  return out;
}

/// {"sizes"} of x, "other" of y where it differs or "number": true; "in_place": true for add.
std::unique_ptr<Op> make(const Rule& rule, Fields& fields, Pass pass) {
  Shape shape;
  shape.x = shape.out = fields.sizes("sizes");
  if (rule.binary()) shape.y = shape.x;
  if (rule.with_number != nullptr) {
    if (fields.has("other")) shape.y = fields.sizes("other");
    if (fields.flag("number")) shape.y.clear();
    const auto out = broadcast(shape.x, shape.y);
    if (!out) fields.fail("\"other\" does not broadcast with \"sizes\"");
    shape.out = *out;
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

template <std::size_t i>
OpType type() {
  std::vector<Pass> passes{Pass::kForward};
  if (kRules[i].backward != nullptr) passes.push_back(Pass::kBackward);
  return {kRules[i].name,
          passes,
          {Backend::kTorch},
          [](Fields& fields, Pass pass) { return make(kRules[i], fields, pass); },
          [](const Seen& seen) { return recognise(kRules[i], seen); }};
}

template <std::size_t... i>
std::vector<OpType> types(std::index_sequence<i...> /*rules*/) {
  return {type<i>()...};
}

}  // namespace

std::vector<OpType> elementwise_types() { return types(std::make_index_sequence<kRules.size()>{}); }

}  // namespace fathom::ops
