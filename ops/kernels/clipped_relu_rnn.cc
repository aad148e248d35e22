#include "ops/kernels/clipped_relu_rnn.h"

#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "ops/core/buffer.h"
#include "ops/core/random_inputs.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

/// The frames of `count` in the order in which a recurrence visits them.
class Order {
 public:
  Order(Direction direction, int64_t count)
      : step_(direction == Direction::kForward ? 1 : -1),
        first_(step_ > 0 ? 0 : count - 1),
        last_(count - 1 - first_) {}

  int64_t first() const { return first_; }
  int64_t last() const { return last_; }
  int64_t step() const { return step_; }

 private:
  int64_t step_;
  int64_t first_;
  int64_t last_;
};

/// 1 in an utterance's frames and 0 after them: [T, N, 1] like x.
at::Tensor mask(const at::Tensor& x, const at::Tensor& frames) {
  const at::Tensor times = at::arange(x.size(0), frames.options()).unsqueeze(1);
  return times.lt(frames).unsqueeze(2).to(x.options());
}

at::Tensor forward(const at::Tensor& x, const at::Tensor& recurrent, const at::Tensor& mask,
                   const Order& order) {
  at::Tensor h = at::empty_like(x);
  const at::Tensor transposed = recurrent.t();
  at::Tensor before;
  for (int64_t t = order.first();; t += order.step()) {
    at::Tensor now = h[t];
    if (before.defined()) {
      at::addmm_out(now, x[t], before, transposed);
    } else {
      now.copy_(x[t]);
    }
    now.clamp_(0, kClip).mul_(mask[t]);
    if (t == order.last()) return h;
    before = now;
  }
}

/// The gradient to x, which is the gradient to the sums inside the clipped ReLUs.
at::Tensor gradient(const at::Tensor& g, const at::Tensor& h, const at::Tensor& recurrent,
                    const Order& order) {
  // Where the ReLU is clipped, or a frame is none of the utterance's, h is 0 or 20.
  at::Tensor dx = g * h.gt(0).logical_and_(h.lt(kClip));
  for (int64_t t = order.last(); t != order.first(); t -= order.step()) {
    const at::Tensor before = h[t - order.step()];
    const at::Tensor carried = at::mm(dx[t], recurrent);
    dx[t - order.step()].add_(carried.mul_(before.gt(0).logical_and_(before.lt(kClip))));
  }
  return dx;
}

/// Σ dx_tᵀ h_before over all frames but the first.
at::Tensor recurrent_gradient(const at::Tensor& dx, const at::Tensor& h, const Order& order) {
  const int64_t pairs = dx.size(0) - 1;
  const bool ahead = order.step() > 0;
  const at::Tensor now = dx.narrow(0, ahead ? 1 : 0, pairs).flatten(0, 1);
  const at::Tensor before = h.narrow(0, ahead ? 0 : 1, pairs).flatten(0, 1);
  return at::mm(now.t(), before);
}

class Function : public torch::autograd::Function<Function> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& recurrent, const at::Tensor& frames, bool backwards) {
    const Order order(backwards ? Direction::kBackward : Direction::kForward, x.size(0));
    at::Tensor h = ops::forward(x, recurrent, mask(x, frames.to(x.device())), order);
    context->save_for_backward({h, recurrent});
    context->saved_data["backwards"] = backwards;
    return h;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto [dx, drecurrent] = clipped_relu_rnn_backward(
        gradients[0], saved[0], saved[1],
        context->saved_data["backwards"].toBool() ? Direction::kBackward : Direction::kForward);
    return {dx, drecurrent, {}, {}};
  }
};

/// Forward {x [T, N, H], recurrent [H, H], frames [N]} gives {h}. Backward {h, recurrent, g} gives
/// {dx, drecurrent}: over the states themselves, since a state that rounding moves off 0 or 20 has
/// another gradient.
class ClippedReluRnn final : public Op {
 public:
  ClippedReluRnn(int64_t frames, int64_t n, int64_t width, Direction direction, Pass pass)
      : frames_(frames), n_(n), width_(width), direction_(direction), pass_(pass) {}

  /// The first frame follows none. Backward has two products a frame.
  Cost cost(fixtures::Precision precision) const override {
    const bool backward = pass_ == Pass::kBackward;
    const auto states = static_cast<double>(frames_ * n_ * width_);
    const auto recurrent = static_cast<double>(width_ * width_);
    const double products = static_cast<double>((frames_ - 1) * n_) * recurrent;
    const double floats = backward ? 3 * states + 2 * recurrent : 2 * states + recurrent;
    return {.flops = (backward ? 4 : 2) * products,
            .bytes = element_bytes(precision) * floats +
                     (backward ? 0 : kIndexBytes * static_cast<double>(n_))};
  }

  /// Utterances are of half to all frames.
  Tensors inputs(uint64_t seed) const override {
    Draws draws(seed);
    const at::Tensor x = draws.normal({frames_, n_, width_});
    const at::Tensor recurrent = draws.weight({width_, width_}, width_);
    const at::Tensor frames = draws.integers({n_}, (frames_ + 1) / 2, frames_ + 1);
    if (pass_ == Pass::kForward) return {x, recurrent, frames};
    const at::Tensor h = clipped_relu_rnn(x, recurrent, frames, direction_);
    return {h, recurrent, draws.normal({frames_, n_, width_})};
  }

  Call call(const Tensors& in) const override {
    if (pass_ == Pass::kForward) {
      return [x = in[0], recurrent = in[1], frames = in[2].cpu(),
              direction = direction_]() -> Tensors {
        return {clipped_relu_rnn(x, recurrent, frames, direction)};
      };
    }
    return [h = in[0], recurrent = in[1], g = in[2], direction = direction_]() -> Tensors {
      const auto [dx, drecurrent] = clipped_relu_rnn_backward(g, h, recurrent, direction);
      return {dx, drecurrent};
    };
  }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kOneDnn}; }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    const bool forward = pass_ == Pass::kForward;
    ClippedRnnProblem problem{.most = kClip,
                              .reverse = direction_ == Direction::kBackward,
                              .recurrent = buffer(in[1]),
                              .h = buffer(forward ? out[0] : in[0]),
                              .pass = {}};
    if (forward) {
      const auto* frames = in[2].const_data_ptr<int64_t>();
      problem.pass =
          ClippedRnnProblem::Forward{.x = buffer(in[0]), .frames = {frames, frames + n_}};
    } else {
      problem.pass = ClippedRnnProblem::Backward{
          .g = buffer(in[2]), .dx = buffer(out[0]), .drecurrent = buffer(out[1])};
    }
    return problem;
  }

  /// Each frame rounds what the next one builds on.
  double slack(fixtures::Precision /*precision*/) const override { return 4; }

 private:
  int64_t frames_;
  int64_t n_;
  int64_t width_;
  Direction direction_;
  Pass pass_;
};

}  // namespace

ClippedReluRnnGradients clipped_relu_rnn_backward(const at::Tensor& g, const at::Tensor& h,
                                                  const at::Tensor& recurrent,
                                                  Direction direction) {
  const Order order(direction, h.size(0));
  const at::Tensor dx = gradient(g, h, recurrent, order);
  return {.x = dx, .recurrent = recurrent_gradient(dx, h, order)};
}

at::Tensor clipped_relu_rnn(const at::Tensor& x, const at::Tensor& recurrent,
                            const at::Tensor& frames, Direction direction) {
  const at::DeviceType device = x.device().type();
  const bool backwards = direction == Direction::kBackward;
  RECORD_USER_SCOPE_WITH_INPUTS("op:rnn", (std::vector<c10::IValue>{x, backwards}));
  if (!at::autocast::is_autocast_enabled(device)) {
    return Function::apply(x.contiguous(), recurrent, frames, backwards);
  }
  const at::ScalarType type = at::autocast::get_autocast_dtype(device);
  const at::Tensor cast_x = at::autocast::cached_cast(type, x, device);
  const at::Tensor cast_recurrent = at::autocast::cached_cast(type, recurrent, device);
  return Function::apply(cast_x.contiguous(), cast_recurrent, frames, backwards);
}

std::unique_ptr<Op> make_rnn(Fields& fields, Pass pass) {
  const int64_t frames = fields.extent("frames");
  const int64_t n = fields.extent("n");
  const int64_t width = fields.extent("width");
  const auto direction = fields.flag("reverse") ? Direction::kBackward : Direction::kForward;
  return std::make_unique<ClippedReluRnn>(frames, n, width, direction, pass);
}

std::vector<SeenOp> recognise_rnn(const Seen& seen) {
  if (seen.name != "op:rnn" || seen.arguments.size() != 2) return {};
  const at::Tensor& x = seen.arguments[0].toTensor();
  nlohmann::ordered_json fields{{"frames", x.size(0)}, {"n", x.size(1)}, {"width", x.size(2)}};
  if (seen.arguments[1].toBool()) fields["reverse"] = true;
  return {{Pass::kForward, fields}};
}

}  // namespace fathom::ops
