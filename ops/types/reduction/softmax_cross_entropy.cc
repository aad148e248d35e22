#include <ATen/core/Reduction.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss_backward.h>
#include <ATen/ops/nll_loss_forward.h>

#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"

namespace fathom::ops {
namespace {

constexpr int64_t kIgnored = -100;  // LibTorch's default ignore_index

struct CrossEntropyShape {
  int64_t n;
  int64_t classes;

  void visit(Fields& fields) {
    fields.extent("n", n);
    fields.extent("classes", classes);
  }
};

/// The mean cross-entropy. Forward: {logits [N, C], labels [N]} gives {loss []}. Backward: {logits,
/// labels, g []} gives {dlogits}.
class SoftmaxCrossEntropy final : public Op {
 public:
  SoftmaxCrossEntropy(const CrossEntropyShape& shape, Pass pass)
      : n_(shape.n), classes_(shape.classes), pass_(pass) {}

  /// The gradient reads the log-softmax, which forward saves, instead of the logits.
  Cost cost(fixtures::Precision precision) const override {
    const auto logits = static_cast<double>(n_ * classes_);
    return {.flops = 0,
            .bytes = 2 * element_bytes(precision) * logits + kIndexBytes * static_cast<double>(n_) +
                     element_bytes(precision)};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    Tensors made{draws.normal({n_, classes_}), draws.integers({n_}, 0, classes_)};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal({}));
    return made;
  }

  Call call(const Tensors& in) const override {
    if (pass_ == Pass::kForward) {
      return
          [x = in[0], labels = in[1]]() -> Tensors { return {at::cross_entropy_loss(x, labels)}; };
    }
    const at::Tensor y = at::log_softmax(in[0], 1);
    const auto [loss, weights] = at::nll_loss_forward(y, in[1], {}, at::Reduction::Mean, kIgnored);
    return [y, labels = in[1], g = in[2], whole = weights]() -> Tensors {
      const at::Tensor dy =
          at::nll_loss_backward(g, y, labels, {}, at::Reduction::Mean, kIgnored, whole);
      return {at::_log_softmax_backward_data(dy, y, 1, y.scalar_type())};
    };
  }

 private:
  int64_t n_;
  int64_t classes_;
  Pass pass_;
};

/// cross_entropy_loss(logits, labels, weights, reduction, ignore_index, smoothing). LibTorch's
/// gradient is two calls. Only nll_loss_backward(g, log-probabilities, labels, weights, reduction)
/// is matched, because a log_softmax without a loss has the other one, too.
std::vector<MatchedOp> match_softmax_cross_entropy(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  const bool backward = is_gradient(call);
  const std::size_t x = backward ? 1 : 0;
  const at::Tensor& logits = arguments[x].toTensor();
  const bool plain =
      logits.dim() == 2 && !given(arguments[x + 2]) &&  // no class weights
      arguments[x + 3].toInt() != at::Reduction::None &&
      (backward || (arguments[1].toTensor().dim() == 1 &&  // class labels, not probabilities
                    arguments[5].toDouble() == 0));        // no label smoothing
  if (!plain) return {};
  return {matched(call, CrossEntropyShape{.n = logits.size(0), .classes = logits.size(1)})};
}

}  // namespace

OpType softmax_cross_entropy_type() {
  return {.name = "softmax_cross_entropy",
          .op_class = OpClass::kReduction,
          .aten = {"cross_entropy_loss", "nll_loss_backward"},
          .aten_parts = {"_log_softmax", "_log_softmax_backward_data", "log_softmax",
                         "nll_loss_forward"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"n": 5, "classes": 7})", R"({"n": 1, "classes": 2})"},
          .fields = fields_of<CrossEntropyShape>,
          .make = make_op<SoftmaxCrossEntropy, CrossEntropyShape>,
          .match = match_softmax_cross_entropy};
}

}  // namespace fathom::ops
