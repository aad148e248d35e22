#include <ATen/TensorOperators.h>
#include <ATen/ops/bernoulli.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/native_dropout_backward.h>

#include "ops/core/check.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/random/moments.h"

namespace fathom::ops {
namespace {

struct DropoutShape {
  Sizes sizes;
  double p;  ///< the probability that an element is dropped

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.share("p", p);
  }
};

/// Dropout in training mode. Forward inputs {x}, outputs {y}; backward inputs {gradient of y,
/// factors that x was multiplied by}, outputs {gradient of x}.
class Dropout final : public Op {
 public:
  Dropout(DropoutShape shape, Pass pass)
      : sizes_(std::move(shape.sizes)), p_(shape.p), backward_(pass == Pass::kBackward) {}

  /// Forward writes the mask, backward reads it: on the CPU, factors in the type of x.
  Cost cost(fixtures::Precision precision) const override {
    return {.flops = elements(sizes_), .bytes = element_bytes(precision) * 3 * elements(sizes_)};
  }

  /// On a GPU the mask has one byte per element.
  Cost cost_on(fixtures::Device device, fixtures::Precision precision) const override {
    Cost found = cost(precision);
    if (device == fixtures::Device::kCuda) {
      found.bytes = (2 * element_bytes(precision) + sizeof(bool)) * elements(sizes_);
    }
    return found;
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draw(seed);
    Tensors made{draw.normal(sizes_)};
    if (backward_) {
      const at::Tensor kept = draw.uniform(sizes_, 0, 1).ge(p_);
      made.push_back(kept.to(at::kFloat).div_(1 - p_));
    }
    return made;
  }

  Call call(const Tensors& in) const override {
    if (!backward_) {
      return [x = in[0], p = p_]() -> Tensors { return {at::dropout(x, p, /*train=*/true)}; };
    }
    if (in[0].is_cuda()) {
      return [gradient = in[0], kept = in[1] != 0, scale = 1 / (1 - p_)]() -> Tensors {
        return {at::native_dropout_backward(gradient, kept, scale)};
      };
    }
    return [gradient = in[0], factors = in[1]]() -> Tensors { return {gradient * factors}; };
  }

  /// Forward is random: checks the share of dropped elements and the scale of the others.
  void check(const Tensors& inputs, const Tensors& outputs, fixtures::Precision precision,
             const Call& reference) const override {
    if (backward_) return Op::check(inputs, outputs, precision, reference);
    const at::Tensor x = inputs[0].to(at::kCPU);
    const at::Tensor kept = outputs[0].to(at::kCPU).ne(0).logical_or(x.eq(0));
    expect_close(outputs, {x.to(at::kDouble).div(1 - p_).mul(kept)}, precision);
    expect_share(kept, 1 - p_);
  }

 private:
  Sizes sizes_;
  double p_;
  bool backward_;
};

/// dropout(x, p, train), native_dropout(x, p, train), native_dropout_backward(gradient, mask,
/// scale). On the CPU autograd multiplies instead, which is matched as mul.
std::vector<MatchedOp> match_dropout(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  const bool backward = is_gradient(call);
  if (!is_plain(arguments[0])) return {};
  if (!backward && arguments[2].isBool() && !arguments[2].toBool()) return {};
  const double p = backward ? 1 - 1 / arguments[2].toScalar().to<double>()
                            : arguments[1].toScalar().to<double>();
  if (p <= 0 || p >= 1) return {};  // LibTorch draws no random numbers
  return {matched(call, DropoutShape{.sizes = tensor_sizes(arguments[0].toTensor()), .p = p})};
}

}  // namespace

OpType dropout_type() {
  return {.name = "dropout",
          .op_class = OpClass::kRandom,
          .aten = {"dropout", "dropout_", "native_dropout", "native_dropout_backward"},
          .aten_parts = {"feature_dropout"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"sizes": [101, 97], "p": 0.5})", R"({"sizes": [3], "p": 0.1})"},
          .fields = fields_of<DropoutShape>,
          .make = make_op<Dropout, DropoutShape>,
          .match = match_dropout};
}

}  // namespace fathom::ops
