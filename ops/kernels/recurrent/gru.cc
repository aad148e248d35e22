#include "ops/kernels/recurrent/gru.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>

#include "ops/core/autograd/autocast.h"
#include "ops/core/autograd/custom_function.h"
#include "ops/kernels/recurrent/gru_gates.h"

namespace fathom::ops {
namespace {

/// What the recurrence computes, and what its gradient reads.
struct Frames {
  at::Tensor states;      ///< [T, N, H]
  at::Tensor gates;       ///< r, z and n: [T, N, 3H]
  at::Tensor recurrence;  ///< b_n: [T, N, H]
};

Frames forward(const at::Tensor& x, const at::Tensor& h, const GruWeights& weights,
               const FrameOrder& order) {
  const int64_t steps = x.size(0);
  const int64_t samples = x.size(1);
  const int64_t width = h.size(1);
  // The products with x, which gru_gates() replaces by the gates.
  const at::Tensor gates = at::addmm(weights.input_bias, x.flatten(0, 1), weights.input.t())
                               .view({steps, samples, 3 * width});
  Frames made{.states = at::empty({steps, samples, width}, x.options()),
              .gates = gates,
              .recurrence = at::empty({steps, samples, width}, x.options())};
  const at::Tensor transposed = weights.recurrent.t();
  at::Tensor products = at::empty({samples, 3 * width}, x.options());
  at::Tensor before = h;
  for (int64_t t = order.first();; t += order.step()) {
    at::addmm_out(products, weights.recurrent_bias, before, transposed);
    const at::Tensor now = made.states[t];
    gru_gates({.gates = gates[t],
               .products = products,
               .h = before,
               .next = now,
               .recurrence = made.recurrence[t]});
    if (t == order.last()) return made;
    before = now;
  }
}

/// Σ dproducts_tᵀ h_before over all frames.
at::Tensor recurrent_gradient(const at::Tensor& dproducts, const at::Tensor& h,
                              const at::Tensor& states, const FrameOrder& order) {
  at::Tensor sum = at::mm(dproducts[order.first()].t(), h);
  const int64_t pairs = states.size(0) - 1;
  if (pairs == 0) return sum;
  const bool ahead = order.step() > 0;
  const at::Tensor now = dproducts.narrow(0, ahead ? 1 : 0, pairs).flatten(0, 1);
  const at::Tensor before = states.narrow(0, ahead ? 0 : 1, pairs).flatten(0, 1);
  return sum.addmm_(now.t(), before);
}

/// The gradients of {x, h, input, recurrent, input_bias, recurrent_bias} from that of the states.
CustomFunction::List backward(const CustomFunction::Request& request, Direction direction) {
  const CustomFunction::List& saved = request.saved;
  const at::Tensor& x = saved[0];
  const at::Tensor& h = saved[1];
  const at::Tensor& input = saved[2];
  const at::Tensor& recurrent = saved[3];
  const Frames made{.states = saved[4], .gates = saved[5], .recurrence = saved[6]};
  const FrameOrder order(direction, x.size(0));
  const at::Tensor g = request.gradients[0].contiguous();
  const at::Tensor dgates = at::empty_like(made.gates);     // of the products with x
  const at::Tensor dproducts = at::empty_like(made.gates);  // of those with h
  at::Tensor carried = at::zeros_like(h);  // the gradient of a state through the later ones
  for (int64_t t = order.last();; t -= order.step()) {
    const bool first = t == order.first();
    gru_gates_backward({.gates = made.gates[t],
                        .recurrence = made.recurrence[t],
                        .h = first ? h : made.states[t - order.step()],
                        .g = g[t],
                        .carried = carried,
                        .dgates = dgates[t],
                        .dproducts = dproducts[t]});
    carried.addmm_(dproducts[t], recurrent);
    if (first) break;
  }
  const at::Tensor rows = dgates.flatten(0, 1);
  return {request.wanted[0] ? at::mm(rows, input).view_as(x) : at::Tensor(),
          carried,
          at::mm(rows.t(), x.flatten(0, 1)),
          recurrent_gradient(dproducts, h, made.states, order),
          rows.sum(0),
          dproducts.flatten(0, 1).sum(0)};
}

at::Tensor differentiable(const at::Tensor& x, const at::Tensor& h, const GruWeights& weights,
                          Direction direction) {
  return apply(
      {.forward =
           [&] {
             const Frames made = forward(x, h, weights, FrameOrder(direction, x.size(0)));
             return CustomFunction::Result{{made.states},
                                           {x, h, weights.input, weights.recurrent, made.states,
                                            made.gates, made.recurrence}};
           },
       .backward =
           [direction](const CustomFunction::Request& request) {
             return backward(request, direction);
           }},
      {x, h, weights.input, weights.recurrent, weights.input_bias, weights.recurrent_bias})[0];
}

/// The same in autocast's type.
at::Tensor run(const at::Tensor& x, const at::Tensor& h, const GruWeights& weights,
               Direction direction) {
  return differentiable(in_autocast_type(x).contiguous(), in_autocast_type(h).contiguous(),
                        {.input = in_autocast_type(weights.input),
                         .recurrent = in_autocast_type(weights.recurrent),
                         .input_bias = in_autocast_type(weights.input_bias),
                         .recurrent_bias = in_autocast_type(weights.recurrent_bias)},
                        direction);
}

}  // namespace

at::Tensor gru(const at::Tensor& x, const at::Tensor& h, const GruWeights& weights,
               Direction direction) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:gru", (std::vector<c10::IValue>{x, weights.recurrent}));
  return run(x, h, weights, direction);
}

at::Tensor gru_cell(const at::Tensor& x, const at::Tensor& h, const GruWeights& weights) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:gru_cell", (std::vector<c10::IValue>{x, weights.recurrent}));
  return run(x.unsqueeze(0), h, weights, Direction::kForward)[0];
}

}  // namespace fathom::ops
