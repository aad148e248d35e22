#include "ops/kernels/lstm_cell.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/record_function.h>

#include "ops/core/buffer.h"
#include "ops/core/composite.h"
#include "ops/kernels/lstm_gates.h"
#include "ops/types/table.h"

namespace fathom::ops {

LstmState lstm_cell(const at::Tensor& x, const LstmState& state, const at::Tensor& weight,
                    const at::Tensor& bias) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:lstm_cell", (std::vector<c10::IValue>{x, state.h}));
  const auto gates = at::linear(at::cat({x, state.h}, 1), weight, bias).chunk(4, 1);
  const at::Tensor c = gates[1].sigmoid() * state.c + gates[0].sigmoid() * gates[2].tanh();
  return {.h = gates[3].sigmoid() * c.tanh(), .c = c};
}

namespace {

/// Those of a layer of one step: {x, h, c, weight, bias} or their gradients.
LstmProblem::Inputs buffers(const Tensors& leaves) {
  const at::Tensor& weight = leaves[3];
  const int64_t inputs = leaves[0].size(1);
  return {.x = buffer(leaves[0].unsqueeze(0)),
          .h = buffer(leaves[1]),
          .c = buffer(leaves[2]),
          .input_weight = buffer(weight.narrow(1, 0, inputs)),
          .recurrent_weight = buffer(weight.narrow(1, inputs, weight.size(1) - inputs)),
          .biases = {buffer(leaves[4])}};
}

}  // namespace

/// {x, h, c, weight, bias} gives {h', c'}.
std::unique_ptr<Op> make_lstm_cell(Fields& fields, Pass pass) {
  const int64_t n = fields.extent("n");
  const int64_t inputs = fields.extent("inputs");
  const int64_t width = fields.extent("width");
  const auto weights = static_cast<double>(4 * width * (inputs + width));
  const auto states = static_cast<double>(2 * n * width);
  const double read = weights + states + static_cast<double>(n * inputs + 4 * width);
  return make_composite(
      {.leaves = [=](Draws& draws) -> Tensors {
         return {draws.normal({n, inputs}), draws.normal({n, width}, 0.5), draws.normal({n, width}),
                 draws.weight({4 * width, inputs + width}, inputs + width),
                 draws.normal({4 * width}, 0.1)};
       },
       .with_gradient = 5,
       .forward = [](const Tensors& in) -> Tensors {
         const auto [h, c] = lstm_cell(in[0], {.h = in[1], .c = in[2]}, in[3], in[4]);
         return {h, c};
       },
       .outputs = 2,
       .products = static_cast<double>(n) * weights,
       .read = read,
       .written = states,
       .gradients = read,
       .native = [](const Tensors& in) -> Tensors {
         const auto [h, c] =
             lstm_gates(at::linear(at::cat({in[0], in[1]}, 1), in[3], in[4]), in[2]);
         return {h, c};
       },
       .problem = [backward = pass == Pass::kBackward](const Tensors& in,
                                                       const Tensors& out) -> Problem {
         const at::Tensor& h = backward ? in[5] : out[0];
         const at::Tensor& c = backward ? in[6] : out[1];
         LstmProblem problem{
             .inputs = buffers(in), .y = buffer(h.unsqueeze(0)), .last_c = buffer(c)};
         if (backward) problem.gradients = buffers(out);
         return problem;
       },
       .vendors = {Backend::kOneDnn, Backend::kCudnn}},
      pass);
}

std::vector<SeenOp> recognise_lstm_cell(const Seen& seen) {
  if (seen.name != "op:lstm_cell" || seen.arguments.size() != 2) return {};
  const at::Tensor& x = seen.arguments[0].toTensor();
  return {
      {Pass::kForward,
       {{"n", x.size(0)}, {"inputs", x.size(1)}, {"width", seen.arguments[1].toTensor().size(1)}}}};
}

}  // namespace fathom::ops
