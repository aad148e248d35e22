#include <ATen/core/Reduction.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss_backward.h>
#include <ATen/ops/nll_loss_forward.h>

#include "ops/core/autograd/gradient_call.h"
#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"

namespace fathom::ops {
namespace {

constexpr int64_t kNoLabel = -100;  // LibTorch's default ignore_index
constexpr int64_t kPadding = 0;
constexpr int64_t kLabelsPerPadding = 8;  // of sentences of 24 to 32 words, padded to 32

struct CrossEntropyShape {
  int64_t n;
  int64_t classes;
  double smoothing;  ///< the share of the target that all classes have in equal parts
  bool padding;      ///< labels of class 0 are ignored

  void visit(Fields& fields) {
    fields.extent("n", n);
    fields.extent("classes", classes);
    fields.number("smoothing", smoothing, 0);
    fields.flag("padding", padding);
    fields.require(smoothing >= 0 && smoothing <= 1, "\"smoothing\" is not from 0 to 1");
    fields.require(!padding || classes > 1, "\"padding\" is true, expected 2 \"classes\" or more");
  }
};

/// The mean cross-entropy of the labels that are not ignored, with label smoothing (Szegedy et al.
/// 2016, section 7). Forward: {logits [N, C], labels [N]} gives {loss []}. Backward: {logits,
/// labels, g []} gives {dlogits}.
class SoftmaxCrossEntropy final : public Op {
 public:
  SoftmaxCrossEntropy(const CrossEntropyShape& shape, Pass pass) : shape_(shape), pass_(pass) {}

  /// The gradient reads the log-softmax, which forward saves, instead of the logits.
  Cost cost(fixtures::Precision precision) const override {
    const auto logits = static_cast<double>(shape_.n * shape_.classes);
    return {.flops = 0,
            .bytes = 2 * element_bytes(precision) * logits +
                     kIndexBytes * static_cast<double>(shape_.n) + element_bytes(precision)};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    const auto& [n, classes, smoothing, padding] = shape_;
    Tensors made{draws.normal({n, classes}), draws.integers({n}, padding ? 1 : 0, classes)};
    if (padding) {
      made[1].slice(0, kLabelsPerPadding - 1, n, kLabelsPerPadding).fill_(kPadding);
    }
    if (pass_ == Pass::kBackward) made.push_back(draws.normal({}));
    return made;
  }

  Call call(const Tensors& in) const override {
    const at::Tensor& labels = in[1];
    const int64_t ignored = shape_.padding ? kPadding : kNoLabel;
    const auto forward = [=, smoothing = shape_.smoothing](const Tensors& logits) -> Tensors {
      return {
          at::cross_entropy_loss(logits[0], labels, {}, at::Reduction::Mean, ignored, smoothing)};
    };
    if (pass_ == Pass::kForward) return [forward, logits = in[0]] { return forward({logits}); };
    if (shape_.smoothing > 0) return gradient_call(forward, {in[0]}, {in[2]});
    const at::Tensor y = at::log_softmax(in[0], 1);
    const auto [loss, weights] = at::nll_loss_forward(y, labels, {}, at::Reduction::Mean, ignored);
    return [=, g = in[2], whole = weights]() -> Tensors {
      const at::Tensor dy =
          at::nll_loss_backward(g, y, labels, {}, at::Reduction::Mean, ignored, whole);
      return {at::_log_softmax_backward_data(dy, y, 1, y.scalar_type())};
    };
  }

 private:
  CrossEntropyShape shape_;
  Pass pass_;
};

/// cross_entropy_loss(logits, labels, weights, reduction, ignore_index, smoothing).
std::vector<MatchedOp> match_softmax_cross_entropy(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  const at::Tensor& logits = arguments[0].toTensor();
  const bool plain = logits.dim() == 2 &&
                     arguments[1].toTensor().dim() == 1 &&  // class labels, not probabilities
                     !given(arguments[2]) && arguments[3].toInt() != at::Reduction::None;
  if (!plain) return {};
  return {matched(call, CrossEntropyShape{.n = logits.size(0),
                                          .classes = logits.size(1),
                                          .smoothing = arguments[5].toDouble(),
                                          .padding = arguments[4].toInt() >= 0})};
}

}  // namespace

OpType softmax_cross_entropy_type() {
  return {.name = "softmax_cross_entropy",
          .op_class = OpClass::kReduction,
          .aten = {"cross_entropy_loss"},
          .composed_gradient = true,
          .aten_parts = {"nll_loss_backward", "nll_loss_forward"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"n": 5, "classes": 7})", R"({"n": 1, "classes": 2})",
                       R"({"n": 9, "classes": 7, "smoothing": 0.1, "padding": true})",
                       R"({"n": 9, "classes": 5, "padding": true})"},
          .fields = fields_of<CrossEntropyShape>,
          .make = make_op<SoftmaxCrossEntropy, CrossEntropyShape>,
          .match = match_softmax_cross_entropy};
}

}  // namespace fathom::ops
