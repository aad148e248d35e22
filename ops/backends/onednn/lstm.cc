#include "ops/backends/onednn/kernels.h"
#include "ops/backends/onednn/primitive.h"
#include "ops/backends/onednn/recurrent.h"

namespace fathom::ops::onednn {
namespace {

using dnnl::memory;

/// The descriptor of weights [4H, I], which are [I, 4, H] in oneDNN.
memory::desc weights(const Buffer& buffer) {
  const int64_t width = buffer.sizes[0] / 4;
  const int64_t row = buffer.strides[0];
  const int64_t all = buffer.sizes[0] * row;
  return {{1, 1, buffer.sizes[1], 4, width},
          layout(buffer).get_data_type(),
          {all, all, buffer.strides[1], width * row, row}};
}

/// The descriptor of a bias [4H].
memory::desc bias(const Buffer& buffer) {
  return layout(buffer).reshape({1, 1, 4, buffer.sizes[0] / 4});
}

memory sum(const std::vector<Buffer>& biases, const memory::desc& desc) {
  memory total = zeros(desc);
  dnnl::post_ops adds;
  adds.append_sum();
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(adds);
  dnnl::stream stream(engine());
  for (const auto& one : biases) {
    memory part(bias(one), engine(), one.data);
    dnnl::reorder(part, total, attributes).execute(stream, part, total);
  }
  stream.wait();
  return total;
}

/// Describes both passes. The hidden and cell states have the type of the inputs, as in LibTorch.
class LstmLayer {
 public:
  explicit LstmLayer(const LstmProblem& problem)
      : x_(layout(problem.inputs.x)),
        states_(state(problem.inputs.h)),
        input_weight_(weights(problem.inputs.input_weight)),
        recurrent_weight_(weights(problem.inputs.recurrent_weight)),
        bias_({1, 1, 4, problem.inputs.h.sizes[1]}, memory::data_type::f32,
              memory::format_tag::ldgo),
        y_(layout(problem.y)) {}

  const memory::desc& bias() const { return bias_; }
  memory::desc state_gradient() const { return gradient(states_); }

  dnnl::lstm_forward::primitive_desc forward() const {
    const auto type = x_.get_data_type();
    return {engine(),
            dnnl::prop_kind::forward_training,
            dnnl::rnn_direction::unidirectional_left2right,
            x_,
            states_,
            states_,
            any(input_weight_, type),
            any(recurrent_weight_, type),
            bias_,
            y_,
            states_,
            states_};
  }

  /// Uses the C interface, which has a flag to overwrite the gradients of the weights instead of
  /// adding to them.
  dnnl::primitive_desc_base backward() const {
    const auto type = x_.get_data_type();
    constexpr auto fp32 = memory::data_type::f32;
    const memory::desc input = any(input_weight_, type);
    const memory::desc recurrent = any(recurrent_weight_, type);
    const memory::desc dstates = gradient(states_);
    dnnl_primitive_desc_t made = nullptr;
    dnnl::error::wrap_c_api(
        dnnl_lstm_backward_primitive_desc_create(
            &made, engine().get(), dnnl_backward, dnnl_unidirectional_left2right, x_.get(),
            states_.get(), states_.get(), input.get(), recurrent.get(), nullptr, nullptr,
            bias_.get(), y_.get(), states_.get(), states_.get(), gradient(x_).get(), dstates.get(),
            dstates.get(), any(input_weight_, fp32).get(), any(recurrent_weight_, fp32).get(),
            nullptr, nullptr, bias_.get(), gradient(y_).get(), dstates.get(), dstates.get(),
            dnnl_rnn_flags_diff_weights_overwrite, forward().get(), nullptr),
        "could not describe the backward pass of an LSTM");
    return dnnl::primitive_desc_base(made);
  }

 private:
  memory::desc x_, states_, input_weight_, recurrent_weight_, bias_, y_;
};

}  // namespace

std::unique_ptr<Kernel> make(const LstmProblem& problem) {
  const LstmLayer layer(problem);
  const auto forward = [&] { return layer.forward(); };
  const auto& [x, h, c, input_weight, recurrent_weight, biases] = problem.inputs;
  std::vector<Argument> inputs{
      {DNNL_ARG_SRC_LAYER, x},
      {DNNL_ARG_SRC_ITER, h, state(h)},
      {DNNL_ARG_SRC_ITER_C, c, state(c)},
      {DNNL_ARG_WEIGHTS_LAYER, input_weight, weights(input_weight)},
      {DNNL_ARG_WEIGHTS_ITER, recurrent_weight, weights(recurrent_weight)}};
  Primitive::Memories memories;
  if (biases.size() == 1) {  // read at each call, unlike the sum of several
    inputs.emplace_back(DNNL_ARG_BIAS, biases[0], bias(biases[0]));
  } else {
    memories.emplace(DNNL_ARG_BIAS, sum(biases, layer.bias()));
  }
  if (!problem.gradients) {
    std::vector<Argument> outputs{{DNNL_ARG_DST_LAYER, problem.y},
                                  {DNNL_ARG_DST_ITER_C, problem.last_c, state(problem.last_c)}};
    if (problem.last_h)
      outputs.emplace_back(DNNL_ARG_DST_ITER, *problem.last_h, state(*problem.last_h));
    return std::make_unique<Primitive>(forward, inputs, outputs, memories);
  }
  Primitive forward_pass(forward, inputs, {}, memories);
  forward_pass.run();
  for (const int name :
       {DNNL_ARG_DST_LAYER, DNNL_ARG_DST_ITER, DNNL_ARG_DST_ITER_C, DNNL_ARG_WORKSPACE}) {
    memories.emplace(name, forward_pass.argument(name));
  }
  if (const auto& known = problem.results) {
    inputs.emplace_back(DNNL_ARG_DST_LAYER, known->y);
    inputs.emplace_back(DNNL_ARG_DST_ITER, known->last_h, state(known->last_h));
    inputs.emplace_back(DNNL_ARG_DST_ITER_C, known->last_c, state(known->last_c));
  }
  inputs.emplace_back(DNNL_ARG_DIFF_DST_LAYER, problem.y);
  inputs.emplace_back(DNNL_ARG_DIFF_DST_ITER_C, problem.last_c, state(problem.last_c));
  if (problem.last_h) {
    inputs.emplace_back(DNNL_ARG_DIFF_DST_ITER, *problem.last_h, state(*problem.last_h));
  } else {
    memories.emplace(DNNL_ARG_DIFF_DST_ITER, zeros(layer.state_gradient()));
  }
  const LstmProblem::Inputs& g = *problem.gradients;
  std::vector<Argument> outputs{
      {DNNL_ARG_DIFF_SRC_LAYER, g.x},
      {DNNL_ARG_DIFF_SRC_ITER, g.h, state(g.h)},
      {DNNL_ARG_DIFF_SRC_ITER_C, g.c, state(g.c)},
      {DNNL_ARG_DIFF_WEIGHTS_LAYER, g.input_weight, weights(g.input_weight)},
      {DNNL_ARG_DIFF_WEIGHTS_ITER, g.recurrent_weight, weights(g.recurrent_weight)}};
  for (const auto& one : g.biases) outputs.emplace_back(DNNL_ARG_DIFF_BIAS, one, bias(one));
  if (g.biases.empty()) memories.emplace(DNNL_ARG_DIFF_BIAS, zeros(layer.bias()));
  return std::make_unique<Primitive>([&] { return layer.backward(); }, inputs, outputs, memories);
}

}  // namespace fathom::ops::onednn
