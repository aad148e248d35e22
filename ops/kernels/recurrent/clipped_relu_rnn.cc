#include "ops/kernels/recurrent/clipped_relu_rnn.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>

#include "ops/core/autograd/autocast.h"
#include "ops/core/autograd/custom_function.h"

namespace fathom::ops {
namespace {

/// [T, N, 1] in the type of x: 1 in the frames of an utterance, 0 beyond its end.
at::Tensor mask(const at::Tensor& x, const at::Tensor& frames) {
  const at::Tensor times = at::arange(x.size(0), frames.options()).unsqueeze(1);
  return times.lt(frames).unsqueeze(2).to(x.options());
}

at::Tensor forward(const at::Tensor& x, const at::Tensor& recurrent, const at::Tensor& mask,
                   const FrameOrder& order) {
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

/// The gradient of x, which equals that of the inputs of the clipped ReLUs.
at::Tensor gradient(const at::Tensor& g, const at::Tensor& h, const at::Tensor& recurrent,
                    const FrameOrder& order) {
  // Only where h is between 0 and kClip: elsewhere the ReLU is clipped or the utterance has ended.
  at::Tensor dx = g * h.gt(0).logical_and_(h.lt(kClip));
  for (int64_t t = order.last(); t != order.first(); t -= order.step()) {
    const at::Tensor before = h[t - order.step()];
    const at::Tensor carried = at::mm(dx[t], recurrent);
    dx[t - order.step()].add_(carried.mul_(before.gt(0).logical_and_(before.lt(kClip))));
  }
  return dx;
}

/// Σ dx_tᵀ h_before over all frames but the first.
at::Tensor recurrent_gradient(const at::Tensor& dx, const at::Tensor& h, const FrameOrder& order) {
  const int64_t pairs = dx.size(0) - 1;
  const bool ahead = order.step() > 0;
  const at::Tensor now = dx.narrow(0, ahead ? 1 : 0, pairs).flatten(0, 1);
  const at::Tensor before = h.narrow(0, ahead ? 0 : 1, pairs).flatten(0, 1);
  return at::mm(now.t(), before);
}

/// The forward pass, with gradients of x and `recurrent`.
at::Tensor differentiable(const at::Tensor& x, const at::Tensor& recurrent,
                          const at::Tensor& frames, Direction direction) {
  return apply(
      {.forward = [&]() -> CustomFunction::Result {
         const at::Tensor h = forward(x, recurrent, mask(x, frames.to(x.device())),
                                      FrameOrder(direction, x.size(0)));
         return {{h}, {h, recurrent}};
       },
       .backward = [direction](const CustomFunction::Request& request) -> CustomFunction::List {
         const auto [dx, drecurrent] = clipped_relu_rnn_backward(
             request.gradients[0], request.saved[0], request.saved[1], direction);
         return {dx, drecurrent};
       }},
      {x, recurrent})[0];
}

}  // namespace

ClippedReluRnnGradients clipped_relu_rnn_backward(const at::Tensor& g, const at::Tensor& h,
                                                  const at::Tensor& recurrent,
                                                  Direction direction) {
  const FrameOrder order(direction, h.size(0));
  const at::Tensor dx = gradient(g, h, recurrent, order);
  return {.x = dx, .recurrent = recurrent_gradient(dx, h, order)};
}

at::Tensor clipped_relu_rnn(const at::Tensor& x, const at::Tensor& recurrent,
                            const at::Tensor& frames, Direction direction) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:clipped_relu_rnn",
                                (std::vector<c10::IValue>{x, direction == Direction::kBackward}));
  return differentiable(in_autocast_type(x).contiguous(), in_autocast_type(recurrent), frames,
                        direction);
}

}  // namespace fathom::ops
