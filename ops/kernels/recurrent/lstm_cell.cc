#include "ops/kernels/recurrent/lstm_cell.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/record_function.h>

namespace fathom::ops {

LstmState lstm_cell(const at::Tensor& x, const LstmState& state, const at::Tensor& weight,
                    const at::Tensor& bias) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:lstm_cell", (std::vector<c10::IValue>{x, state.h}));
  const auto gates = at::linear(at::cat({x, state.h}, 1), weight, bias).chunk(4, 1);
  const at::Tensor c = gates[1].sigmoid() * state.c + gates[0].sigmoid() * gates[2].tanh();
  return {.h = gates[3].sigmoid() * c.tanh(), .c = c};
}

}  // namespace fathom::ops
