#include <ATen/core/ivalue.h>

#include "ops/core/buffer.h"
#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/recurrent/gru_layers.h"
#include "ops/types/matrix/gru_problem.h"

namespace fathom::ops {
namespace {

struct GruShape {
  int64_t steps;
  int64_t n;
  int64_t inputs;
  int64_t width;

  void visit(Fields& fields) {
    fields.extent("steps", steps);
    fields.extent("n", n);
    fields.extent("inputs", inputs);
    fields.extent("width", width);
  }
};

GruWeights weights_of(const Tensors& in) { return {in[2], in[3], in[4], in[5]}; }

/// A layer in one direction as a training step runs it: {x [T, N, I], h [N, H], weights [3H, I] and
/// [3H, H], biases [3H] and [3H]} gives {outputs [T, N, H]}.
std::unique_ptr<Op> make_gru(Fields& fields, Pass pass) {
  const auto s = read_shape<GruShape>(fields);
  const auto weights = elements({3, s.width, s.inputs + s.width});
  const double read = weights + elements({6 + s.n, s.width}) + elements({s.steps, s.n, s.inputs});
  return make_composite(
      {.inputs = [s](RandomInputs& draws) -> Tensors {
         const int64_t fan_in = s.inputs + s.width;
         return {draws.normal({s.steps, s.n, s.inputs}),
                 draws.normal({s.n, s.width}, 0.5),
                 draws.weight({3 * s.width, s.inputs}, fan_in),
                 draws.weight({3 * s.width, s.width}, fan_in),
                 draws.normal({3 * s.width}, 0.1),
                 draws.normal({3 * s.width}, 0.1)};
       },
       .with_gradient = 6,
       .forward = [](const Tensors& in) -> Tensors {
         return {torch_gru(in[0], in[1], weights_of(in), /*train=*/true)};
       },
       .outputs = 1,
       .prepare = [](const Tensors& in) { flatten_gru_weights(weights_of(in)); },
       .macs = elements({s.steps, s.n}) * weights,
       .read = read,
       .written = elements({s.steps, s.n, s.width}),
       .gradients = read,
       .native = [](const Tensors& in) -> Tensors {
         return {gru(in[0], in[1], weights_of(in), Direction::kForward)};
       },
       .native_in_steps = {fixtures::Device::kCpu},
       .problem = [backward = pass == Pass::kBackward](
                      const Tensors& in,
                      const Tensors& out) { return gru_problem(in, out, backward); },
       .vendors = {Backend::kOneDnn, Backend::kCudnn}},
      pass);
}

/// The scope's arguments are {x [T, N, I], the recurrent weights [3H, H] of each direction}.
/// at::gru has (x, states, weights, biases, layers, dropout, train, bidirectional, batch_first).
/// Each layer and direction is an op: it is a call of its own in oneDNN.
std::vector<MatchedOp> match_gru(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  std::vector<MatchedOp> made;
  if (call.name == "op:gru") {
    if (arguments.size() < 2) return {};
    const at::Tensor& x = arguments[0].toTensor();
    for (const c10::IValue& weight : arguments.slice(1)) {
      made.push_back(matched(Pass::kForward, GruShape{.steps = x.size(0),
                                                      .n = x.size(1),
                                                      .inputs = x.size(2),
                                                      .width = weight.toTensor().size(1)}));
    }
    return made;
  }
  if (!arguments[2].isTensorList() || !arguments[3].toBool()) return {};  // packed, no biases
  const at::Tensor& x = arguments[0].toTensor();
  const bool batch_first = arguments[8].toBool();
  const int64_t directions = arguments[7].toBool() ? 2 : 1;
  GruShape shape{.steps = x.size(batch_first ? 1 : 0),
                 .n = x.size(batch_first ? 0 : 1),
                 .inputs = x.size(2),
                 .width = arguments[2].toTensorVector()[1].size(1)};
  for (int64_t layer = 0; layer < arguments[4].toInt(); ++layer) {
    for (int64_t direction = 0; direction < directions; ++direction) {
      made.push_back(matched(Pass::kForward, shape));
    }
    shape.inputs = directions * shape.width;
  }
  return made;
}

}  // namespace

OpType gru_type() {
  return {.name = "gru",
          .op_class = OpClass::kMatrix,
          .aten = {"gru"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"steps": 5, "n": 3, "inputs": 4, "width": 6})",
                       R"({"steps": 1, "n": 1, "inputs": 7, "width": 2})"},
          .fields = fields_of<GruShape>,
          .make = make_gru,
          .match = match_gru};
}

}  // namespace fathom::ops
