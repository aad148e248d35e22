#include "ops/kernels/recurrent/lstm_cell.h"

#include <ATen/core/ivalue.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>

#include "ops/core/buffer.h"
#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/recurrent/lstm_gates.h"

namespace fathom::ops {
namespace {

struct LstmCellShape {
  int64_t n;
  int64_t inputs;
  int64_t width;

  void visit(Fields& fields) {
    fields.extent("n", n);
    fields.extent("inputs", inputs);
    fields.extent("width", width);
  }
};

/// The buffers of {x, h, c, weight, bias}, or of their gradients, as a layer of one step.
LstmProblem::Inputs buffers(const Tensors& tensors) {
  const at::Tensor& weight = tensors[3];
  const int64_t inputs = tensors[0].size(1);
  return {.x = buffer(tensors[0].unsqueeze(0)),
          .h = buffer(tensors[1]),
          .c = buffer(tensors[2]),
          .input_weight = buffer(weight.narrow(1, 0, inputs)),
          .recurrent_weight = buffer(weight.narrow(1, inputs, weight.size(1) - inputs)),
          .biases = {buffer(tensors[4])}};
}

/// {x, h, c, weight, bias} gives {h', c'}.
std::unique_ptr<Op> make_lstm_cell(Fields& fields, Pass pass) {
  const auto [n, inputs, width] = read_shape<LstmCellShape>(fields);
  const auto weights = elements({4, width, inputs + width});
  const auto states = elements({2, n, width});
  const double read = weights + states + elements({n, inputs}) + elements({4, width});
  return make_composite(
      {.inputs = [n = n, inputs = inputs, width = width](RandomInputs& draws) -> Tensors {
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
       .macs = static_cast<double>(n) * weights,
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

/// The scope's arguments are {x [N, I], h [N, H]}.
std::vector<MatchedOp> match_lstm_cell(const ObservedCall& call) {
  if (call.arguments.size() != 2) return {};
  const at::Tensor& x = call.arguments[0].toTensor();
  return {matched(Pass::kForward, LstmCellShape{.n = x.size(0),
                                                .inputs = x.size(1),
                                                .width = call.arguments[1].toTensor().size(1)})};
}

}  // namespace

OpType lstm_cell_type() {
  return {
      .name = "lstm_cell",
      .op_class = OpClass::kMatrix,
      .passes = {Pass::kForward, Pass::kBackward},
      .examples = {R"({"n": 3, "inputs": 5, "width": 4})", R"({"n": 1, "inputs": 1, "width": 1})"},
      .fields = fields_of<LstmCellShape>,
      .make = make_lstm_cell,
      .match = match_lstm_cell};
}

}  // namespace fathom::ops
