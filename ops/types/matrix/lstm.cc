#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/recurrent/lstm_layers.h"

namespace fathom::ops {
namespace {

struct LstmShape {
  int64_t steps;
  int64_t n;
  int64_t inputs;
  int64_t width;
  bool bias;  ///< two biases per gate, as at::lstm requires

  void visit(Fields& fields) {
    fields.extent("steps", steps);
    fields.extent("n", n);
    fields.extent("inputs", inputs);
    fields.extent("width", width);
    fields.flag("bias", bias);
  }
};

/// The shape of a layer over x [T, N, I], or [N, T, I] with batch_first.
LstmShape shape_of(const at::Tensor& x, bool batch_first, int64_t width, bool bias) {
  return {.steps = x.size(batch_first ? 1 : 0),
          .n = x.size(batch_first ? 0 : 1),
          .inputs = x.size(2),
          .width = width,
          .bias = bias};
}

/// One op per layer and direction: each is a call of its own in oneDNN and has its own gradient.
std::vector<MatchedOp> layers(Pass pass, LstmShape first, int64_t count, int64_t directions) {
  std::vector<MatchedOp> made;
  for (int64_t layer = 0; layer < count; ++layer) {
    for (int64_t direction = 0; direction < directions; ++direction) {
      made.push_back(matched(pass, first));
    }
    first.inputs = directions * first.width;
  }
  return made;
}

/// lstm(x, states, weights, bias, layers, dropout, train, bidirectional, batch_first).
std::vector<MatchedOp> match_whole(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  if (!arguments[1].isTensorList()) return {};  // packed sequences
  const int64_t width = arguments[2].toTensorVector()[1].size(1);
  return layers(
      Pass::kForward,
      shape_of(arguments[0].toTensor(), arguments[8].toBool(), width, arguments[3].toBool()),
      arguments[4].toInt(), arguments[7].toBool() ? 2 : 1);
}

/// _cudnn_rnn(x, weights, weights of a layer, buffer, h, c, mode, width, projection, layers,
/// batch_first, ..., bidirectional, ...). Its backward has the output and three gradients before
/// the mode.
std::vector<MatchedOp> match_cudnn(const ObservedCall& call) {
  const bool backward = is_gradient(call);
  const auto& arguments = call.arguments;
  const std::size_t mode = backward ? 10 : 6;
  if (arguments[mode].toInt() != kLstmMode || arguments[mode + 2].toInt() != 0) return {};
  return layers(backward ? Pass::kBackward : Pass::kForward,
                shape_of(arguments[0].toTensor(), arguments[mode + 4].toBool(),
                         arguments[mode + 1].toInt(), arguments[2].toInt() == 4),
                arguments[mode + 3].toInt(), arguments[mode + 7].toBool() ? 2 : 1);
}

/// mkldnn_rnn_layer(x, input weight, recurrent weight [4H, H], ..., bias, ...): one layer.
std::vector<MatchedOp> match_layer(const ObservedCall& call) {
  const int64_t width = call.arguments[2].toTensor().size(1);
  const bool bias = call.arguments[is_gradient(call) ? 17 : 12].toBool();
  return {
      matched(call, shape_of(call.arguments[0].toTensor(), /*batch_first=*/false, width, bias))};
}

std::vector<MatchedOp> match_lstm(const ObservedCall& call) {
  if (call.name == "aten::lstm") return match_whole(call);
  return call.name.starts_with("aten::_cudnn") ? match_cudnn(call) : match_layer(call);
}

/// The buffers of make_lstm()'s inputs, or of their gradients.
LstmProblem::Inputs buffers(at::ArrayRef<at::Tensor> tensors) {
  LstmProblem::Inputs made{.x = buffer(tensors[0]),
                           .h = buffer(tensors[1][0]),
                           .c = buffer(tensors[2][0]),
                           .input_weight = buffer(tensors[3]),
                           .recurrent_weight = buffer(tensors[4]),
                           .biases = {}};
  for (const auto& bias : tensors.slice(5)) made.biases.push_back(buffer(bias));
  return made;
}

/// The weights and biases among make_lstm()'s inputs.
std::vector<at::Tensor> weights_of(const Tensors& in, bool bias) {
  return {in.begin() + 3, in.begin() + (bias ? 7 : 5)};
}

/// A layer as a training step runs it; LibTorch calls oneDNN or cuDNN where it can. {x [T, N, I], h
/// [1, N, H], c [1, N, H], weights [4H, I] and [4H, H], and with `bias` two biases [4H]} gives
/// {outputs [T, N, H], h', c'}.
std::unique_ptr<Op> make_lstm(Fields& fields, Pass pass) {
  LstmShape s{};
  s.visit(fields);
  const auto weights = elements({4, s.width, s.inputs + s.width});
  const auto states = elements({2, s.n, s.width});
  const double read = weights + states + elements({s.steps, s.n, s.inputs}) +
                      (s.bias ? static_cast<double>(8 * s.width) : 0);
  const std::size_t input_count = s.bias ? 7 : 5;
  return make_composite(
      {.inputs =
           [s](RandomInputs& draws) {
             Tensors made{draws.normal({s.steps, s.n, s.inputs}),
                          draws.normal({1, s.n, s.width}, 0.5), draws.normal({1, s.n, s.width}),
                          draws.weight({4 * s.width, s.inputs}, s.inputs + s.width),
                          draws.weight({4 * s.width, s.width}, s.inputs + s.width)};
             for (int i = 0; i < 2 && s.bias; ++i) made.push_back(draws.normal({4 * s.width}, 0.1));
             return made;
           },
       .with_gradient = input_count,
       .forward = [bias = s.bias](const Tensors& in) -> Tensors {
         const auto [outputs, h, c] =
             lstm(in[0], in[1], in[2], weights_of(in, bias), bias, /*train=*/true);
         return {outputs, h, c};
       },
       .outputs = 3,
       .prepare =
           [bias = s.bias](const Tensors& in) { flatten_lstm_weights(weights_of(in, bias), bias); },
       .macs = elements({s.steps, s.n}) * weights,
       .read = read,
       .written = states + elements({s.steps, s.n, s.width}),
       .gradients = read,
       .problem = [input_count, backward = pass == Pass::kBackward](const Tensors& in,
                                                                    const Tensors& out) -> Problem {
         const at::ArrayRef<at::Tensor> all(in);
         const auto results = backward ? all.slice(input_count) : at::ArrayRef<at::Tensor>(out);
         LstmProblem problem{.inputs = buffers(all.slice(0, input_count)),
                             .y = buffer(results[0]),
                             .last_c = buffer(results[2][0]),
                             .last_h = buffer(results[1][0])};
         if (backward) problem.gradients = buffers(out);
         return problem;
       },
       .vendors = {Backend::kOneDnn, Backend::kCudnn}},
      pass);
}

}  // namespace

OpType lstm_type() {
  return {.name = "lstm",
          .op_class = OpClass::kMatrix,
          .aten = {"lstm", "mkldnn_rnn_layer", "mkldnn_rnn_layer_backward", "_cudnn_rnn",
                   "_cudnn_rnn_backward"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"steps": 5, "n": 3, "inputs": 4, "width": 6, "bias": true})",
                       R"({"steps": 1, "n": 1, "inputs": 7, "width": 2})"},
          .fields = fields_of<LstmShape>,
          .make = make_lstm,
          .match = match_lstm};
}

}  // namespace fathom::ops
