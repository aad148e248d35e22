#include "ops/kernels/recurrent/lstm_cell.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_thnn_fused_lstm_cell.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/record_function.h>

#include "ops/kernels/fused_composites.h"
#include "ops/kernels/recurrent/lstm_gates.h"

namespace fathom::ops {

LstmState lstm_cell(const at::Tensor& x, const LstmState& state, const at::Tensor& weight,
                    const at::Tensor& bias) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:lstm_cell", (std::vector<c10::IValue>{x, state.h}));
  const at::Tensor inputs = at::cat({x, state.h}, 1);
  if (inputs.is_cuda()) {
    // The kernel of nn::LSTMCell. It adds its first two arguments: the products and the bias.
    const at::Tensor products = at::linear(inputs, weight);
    const auto [h, c, gates] =
        at::_thnn_fused_lstm_cell(products, bias.expand_as(products), state.c);
    return {.h = h, .c = c};
  }
  const at::Tensor preactivations = at::linear(inputs, weight, bias);
  if (fused_composites()) return lstm_gates(preactivations, state.c.contiguous());
  const auto gates = preactivations.chunk(4, 1);
  const at::Tensor c = gates[1].sigmoid() * state.c + gates[0].sigmoid() * gates[2].tanh();
  return {.h = gates[3].sigmoid() * c.tanh(), .c = c};
}

}  // namespace fathom::ops
