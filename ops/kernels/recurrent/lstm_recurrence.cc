#include "ops/kernels/recurrent/lstm_recurrence.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>

#include <utility>
#include <vector>

#include "ops/core/autograd/autocast.h"
#include "ops/core/autograd/custom_function.h"
#include "ops/cuda/library.h"
#include "ops/kernels/recurrent/lstm_gates.h"

namespace fathom::ops {
namespace {

/// [T, N, 1] in the type of x: 1 at the positions of a sequence, 0 before them.
at::Tensor mask(const at::Tensor& x, const at::Tensor& lengths) {
  const at::Tensor left = at::arange(x.size(0), 0, -1, lengths.options()).unsqueeze(1);
  return left.le(lengths).unsqueeze(2).to(x.options());
}

at::Tensor zero_state(const at::Tensor& x, const at::Tensor& recurrent) {
  return at::zeros({x.size(1), recurrent.size(1)}, x.options());
}

/// The results of the forward pass, which the backward pass reads.
struct Run {
  at::Tensor preactivations;  ///< [T, N, 4H]
  at::Tensor h;               ///< [T, N, H]
  at::Tensor c;               ///< [T, N, H]
};

Run forward(const at::Tensor& x, const at::Tensor& recurrent, const at::Tensor& mask) {
  const std::vector<int64_t> states{x.size(0), x.size(1), recurrent.size(1)};
  Run run{.preactivations = at::empty_like(x),
          .h = at::empty(states, x.options()),
          .c = at::empty(states, x.options())};
  const at::Tensor transposed = recurrent.t();
  const at::Tensor zero = zero_state(x, recurrent);
  LstmState state{.h = zero, .c = zero};
  for (int64_t t = 0; t < x.size(0); ++t) {
    at::Tensor preactivations = run.preactivations[t];
    at::addmm_out(preactivations, x[t], state.h, transposed);
    const LstmState next{.h = run.h[t], .c = run.c[t]};
    lstm_gates_out(next, preactivations, state.c);
    next.h.mul_(mask[t]);
    next.c.mul_(mask[t]);
    state = next;
  }
  return run;
}

/// The gradients of x and `recurrent` from those of the hidden states, [T, N, H], and of the last
/// cell state, [N, H].
std::pair<at::Tensor, at::Tensor> backward(const at::Tensor& g, const at::Tensor& g_last_c,
                                           const Run& run, const at::Tensor& recurrent,
                                           const at::Tensor& mask) {
  const int64_t steps = g.size(0);
  const at::Tensor zero = zero_state(g, recurrent);
  const at::Tensor dx = at::empty_like(run.preactivations);
  LstmState gradient{.h = zero, .c = g_last_c.clone()};
  at::Tensor dc = at::empty_like(zero);  // of the state before
  for (int64_t t = steps - 1; t >= 0; --t) {
    gradient.h = gradient.h.add(g[t]).mul_(mask[t]);
    gradient.c.mul_(mask[t]);
    lstm_gates_backward_out(dx[t], dc, run.preactivations[t], t > 0 ? run.c[t - 1] : zero,
                            gradient);
    std::swap(gradient.c, dc);
    if (t > 0) gradient.h = at::mm(dx[t], recurrent);
  }
  const at::Tensor now = dx.narrow(0, 1, steps - 1).flatten(0, 1);
  const at::Tensor before = run.h.narrow(0, 0, steps - 1).flatten(0, 1);
  return {dx, at::mm(now.t(), before)};
}

LstmSequence differentiable(const at::Tensor& x, const at::Tensor& recurrent,
                            const at::Tensor& lengths) {
  const auto found =
      apply({.forward = [&]() -> CustomFunction::Result {
               const at::Tensor kept = mask(x, lengths);
               const auto [preactivations, h, c] = forward(x, recurrent, kept);
               return {{h, c[-1].clone()}, {preactivations, h, c, recurrent, kept}};
             },
             .backward = [](const CustomFunction::Request& request) -> CustomFunction::List {
               const auto& saved = request.saved;
               const auto [dx, drecurrent] = backward(
                   request.gradients[0].contiguous(), request.gradients[1].contiguous(),
                   {.preactivations = saved[0], .h = saved[1], .c = saved[2]}, saved[3], saved[4]);
               return {dx, drecurrent};
             }},
            {x, recurrent});
  return {.h = found[0], .last_c = found[1]};
}

LstmSequence in_its_type(const at::Tensor& x, const at::Tensor& recurrent,
                         const at::Tensor& lengths) {
  const bool here = x.is_cpu() || (x.is_cuda() && cuda_library() != nullptr);
  return here ? differentiable(x.contiguous(), recurrent, lengths)
              : composed_lstm_recurrence(x, recurrent, lengths);
}

}  // namespace

LstmSequence composed_lstm_recurrence(const at::Tensor& x, const at::Tensor& recurrent,
                                      const at::Tensor& lengths) {
  const at::Tensor kept = mask(x, lengths);
  const at::Tensor transposed = recurrent.t();
  const at::Tensor zero = zero_state(x, recurrent);
  LstmState state{.h = zero, .c = zero};
  std::vector<at::Tensor> outputs;
  for (int64_t t = 0; t < x.size(0); ++t) {
    const auto gates = at::addmm(x[t], state.h, transposed).chunk(4, 1);
    // h is 0 where c is.
    state.c = (gates[1].sigmoid() * state.c + gates[0].sigmoid() * gates[2].tanh()) * kept[t];
    state.h = gates[3].sigmoid() * state.c.tanh();
    outputs.push_back(state.h);
  }
  return {.h = at::stack(outputs), .last_c = state.c};
}

LstmSequence lstm_recurrence(const at::Tensor& x, const at::Tensor& recurrent,
                             const at::Tensor& lengths) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:lstm_recurrence", (std::vector<c10::IValue>{x}));
  return in_its_type(in_autocast_type(x), in_autocast_type(recurrent), lengths);
}

}  // namespace fathom::ops
