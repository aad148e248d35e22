#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss_backward.h>
#include <ATen/ops/nll_loss_forward.h>
#include <ATen/ops/softmax.h>
#include <c10/util/accumulate.h>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/random_inputs.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

using Sizes = std::vector<int64_t>;

constexpr int64_t kIgnored = -100;  // LibTorch's own

/// Over the second extent of [outer, classes] or [outer, classes, inner]: {x} gives {y}, {x, g}
/// with g like y gives {dx}.
class Softmax final : public Op {
 public:
  Softmax(Sizes sizes, Pass pass) : sizes_(std::move(sizes)), pass_(pass) {}

  /// A gradient reads y, not x.
  Cost cost(fixtures::Precision precision) const override {
    const auto elements = static_cast<double>(c10::multiply_integers(sizes_));
    return {.flops = 0,
            .bytes = (pass_ == Pass::kForward ? 2 : 3) * element_bytes(precision) * elements};
  }

  Tensors inputs(uint64_t seed) const override {
    Draws draws(seed);
    Tensors made{draws.normal(sizes_)};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(sizes_));
    return made;
  }

  Call call(const Tensors& in) const override {
    const at::Tensor& x = in[0];
    if (pass_ == Pass::kForward) return [x]() -> Tensors { return {at::softmax(x, 1)}; };
    return [y = at::softmax(x, 1), g = in[1]]() -> Tensors {
      return {at::_softmax_backward_data(g, y, 1, y.scalar_type())};
    };
  }

  std::vector<Backend> backends() const override {
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    SoftmaxProblem problem{.x = buffer(in[0]), .y = buffer(out[0]), .axis = 1};
    if (pass_ == Pass::kBackward) {
      problem.y = buffer(in[1]);
      problem.dx = buffer(out[0]);
    }
    return problem;
  }

 private:
  Sizes sizes_;
  Pass pass_;
};

/// The mean cross-entropy: {logits [N, C], labels [N]} gives {loss []}; {logits, labels, g []}
/// gives {dlogits}.
class SoftmaxCrossEntropy final : public Op {
 public:
  SoftmaxCrossEntropy(int64_t n, int64_t classes, Pass pass)
      : n_(n), classes_(classes), pass_(pass) {}

  /// A gradient reads the logarithms of the softmax, which forward leaves, in the logits' place.
  Cost cost(fixtures::Precision precision) const override {
    const auto logits = static_cast<double>(n_ * classes_);
    return {.flops = 0,
            .bytes = 2 * element_bytes(precision) * logits + kIndexBytes * static_cast<double>(n_) +
                     element_bytes(precision)};
  }

  Tensors inputs(uint64_t seed) const override {
    Draws draws(seed);
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

}  // namespace

std::unique_ptr<Op> make_softmax(Fields& fields, Pass pass) {
  auto sizes = fields.sizes("sizes");
  if (sizes.size() != 2 && sizes.size() != 3)
    fields.fail("\"sizes\" are not [outer, classes] or [outer, classes, inner]");
  return std::make_unique<Softmax>(std::move(sizes), pass);
}

std::vector<SeenOp> recognise_softmax(const Seen& seen) {
  const bool backward = seen.name == "aten::_softmax_backward_data";
  if (!backward && seen.name != "aten::softmax" && seen.name != "aten::_softmax") return {};
  const auto sizes =
      around(seen.arguments[0].toTensor().sizes(), seen.arguments[backward ? 2 : 1].toInt());
  return {{backward ? Pass::kBackward : Pass::kForward, {{"sizes", sizes}}}};
}

std::unique_ptr<Op> make_softmax_cross_entropy(Fields& fields, Pass pass) {
  const int64_t n = fields.extent("n");
  return std::make_unique<SoftmaxCrossEntropy>(n, fields.extent("classes"), pass);
}

/// LibTorch's gradient is two calls, of which the first is sure to be of this op: a logarithm of a
/// softmax alone has the other, too.
std::vector<SeenOp> recognise_softmax_cross_entropy(const Seen& seen) {
  const bool backward = seen.name == "aten::nll_loss_backward";
  if (!backward && seen.name != "aten::cross_entropy_loss") return {};
  const auto& arguments = seen.arguments;
  const std::size_t x = backward ? 1 : 0;
  const at::Tensor& logits = arguments[x].toTensor();
  const bool plain = logits.dim() == 2 && !given(arguments[x + 2]) &&  // no weights of classes
                     arguments[x + 3].toInt() != at::Reduction::None &&
                     (backward || (arguments[1].toTensor().dim() == 1 &&  // labels, not shares
                                   arguments[5].toDouble() == 0));        // nor smoothed ones
  if (!plain) return {};
  return {{backward ? Pass::kBackward : Pass::kForward,
           {{"n", logits.size(0)}, {"classes", logits.size(1)}}}};
}

}  // namespace fathom::ops
