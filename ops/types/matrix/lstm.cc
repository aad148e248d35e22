#include <ATen/ops/lstm.h>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/composite.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

struct LstmShape {
  int64_t steps;
  int64_t n;
  int64_t inputs;
  int64_t width;
  bool bias;  ///< two a gate, as at::lstm wants them
};

nlohmann::ordered_json fields_of(const LstmShape& shape) {
  nlohmann::ordered_json fields{
      {"steps", shape.steps}, {"n", shape.n}, {"inputs", shape.inputs}, {"width", shape.width}};
  put_unless(fields, "bias", shape.bias, false);
  return fields;
}

/// A layer over a sequence x [T, N, I]: `steps` and `n` follow from it.
LstmShape shape_of(const at::Tensor& x, bool batch_first, int64_t width, bool bias) {
  return {.steps = x.size(batch_first ? 1 : 0),
          .n = x.size(batch_first ? 0 : 1),
          .inputs = x.size(2),
          .width = width,
          .bias = bias};
}

/// A row a layer and direction: each of them is a call of oneDNN and has a gradient of its own.
std::vector<SeenOp> layers(const Seen& seen) {
  if (!seen.arguments[1].isTensorList()) return {};  // packed sequences
  const auto weights = seen.arguments[2].toTensorVector();
  const auto count = seen.arguments[4].toInt();
  const int64_t directions = seen.arguments[7].toBool() ? 2 : 1;
  const int64_t width = weights[1].size(1);
  LstmShape shape = shape_of(seen.arguments[0].toTensor(), seen.arguments[8].toBool(), width,
                             seen.arguments[3].toBool());
  std::vector<SeenOp> made;
  for (int64_t layer = 0; layer < count; ++layer) {
    for (int64_t direction = 0; direction < directions; ++direction) {
      made.push_back({Pass::kForward, fields_of(shape)});
    }
    shape.inputs = directions * width;
  }
  return made;
}

/// Inputs of make_lstm(), or their gradients.
LstmProblem::Inputs buffers(at::ArrayRef<at::Tensor> leaves) {
  LstmProblem::Inputs made{.x = buffer(leaves[0]),
                           .h = buffer(leaves[1][0]),
                           .c = buffer(leaves[2][0]),
                           .input_weight = buffer(leaves[3]),
                           .recurrent_weight = buffer(leaves[4]),
                           .biases = {}};
  for (const auto& bias : leaves.slice(5)) made.biases.push_back(buffer(bias));
  return made;
}

}  // namespace

/// A layer as a training step runs it, by oneDNN or cuDNN where LibTorch has them: {x [T, N, I],
/// h [1, N, H], c, weights [4H, I] and [4H, H], then two biases [4H] where there are some} gives
/// {outputs [T, N, H], h', c'}.
std::unique_ptr<Op> make_lstm(Fields& fields, Pass pass) {
  const LstmShape s{.steps = fields.extent("steps"),
                    .n = fields.extent("n"),
                    .inputs = fields.extent("inputs"),
                    .width = fields.extent("width"),
                    .bias = fields.flag("bias")};
  const auto weights = static_cast<double>(4 * s.width * (s.inputs + s.width));
  const auto states = static_cast<double>(2 * s.n * s.width);
  const double read = weights + states + static_cast<double>(s.steps * s.n * s.inputs) +
                      (s.bias ? static_cast<double>(8 * s.width) : 0);
  const std::size_t leaves = s.bias ? 7 : 5;
  return make_composite(
      {.leaves =
           [s](Draws& draws) {
             Tensors made{draws.normal({s.steps, s.n, s.inputs}),
                          draws.normal({1, s.n, s.width}, 0.5), draws.normal({1, s.n, s.width}),
                          draws.weight({4 * s.width, s.inputs}, s.inputs + s.width),
                          draws.weight({4 * s.width, s.width}, s.inputs + s.width)};
             for (int i = 0; i < 2 && s.bias; ++i) made.push_back(draws.normal({4 * s.width}, 0.1));
             return made;
           },
       .with_gradient = leaves,
       .forward = [bias = s.bias](const Tensors& in) -> Tensors {
         const std::vector<at::Tensor> weight(in.begin() + 3, in.begin() + (bias ? 7 : 5));
         const auto [outputs, h, c] = at::lstm(in[0], {in[1], in[2]}, weight, bias, /*layers=*/1,
                                               /*dropout=*/0, /*train=*/true,
                                               /*bidirectional=*/false, /*batch_first=*/false);
         return {outputs, h, c};
       },
       .outputs = 3,
       .products = static_cast<double>(s.steps * s.n) * weights,
       .read = read,
       .written = states + static_cast<double>(s.steps * s.n * s.width),
       .gradients = read,
       .problem = [leaves, backward = pass == Pass::kBackward](const Tensors& in,
                                                               const Tensors& out) -> Problem {
         const at::ArrayRef<at::Tensor> all(in);
         const auto results = backward ? all.slice(leaves) : at::ArrayRef<at::Tensor>(out);
         LstmProblem problem{.inputs = buffers(all.slice(0, leaves)),
                             .y = buffer(results[0]),
                             .last_c = buffer(results[2][0]),
                             .last_h = buffer(results[1][0])};
         if (backward) problem.gradients = buffers(out);
         return problem;
       },
       .vendors = {Backend::kOneDnn, Backend::kCudnn}},
      pass);
}

std::vector<SeenOp> recognise_lstm(const Seen& seen) {
  if (seen.name == "aten::lstm") return layers(seen);
  const bool backward = seen.name == "aten::mkldnn_rnn_layer_backward";
  if (!backward && seen.name != "aten::mkldnn_rnn_layer") return {};
  const auto& arguments = seen.arguments;
  const int64_t width = arguments[2].toTensor().size(1);  // of the recurrent weight [4H, H]
  const bool bias = arguments[backward ? 17 : 12].toBool();
  return {{backward ? Pass::kBackward : Pass::kForward,
           fields_of(shape_of(arguments[0].toTensor(), /*batch_first=*/false, width, bias))}};
}

}  // namespace fathom::ops
