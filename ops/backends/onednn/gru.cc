#include <array>
#include <utility>

#include "ops/backends/onednn/kernels.h"
#include "ops/backends/onednn/primitive.h"
#include "ops/backends/onednn/recurrent.h"

namespace fathom::ops::onednn {
namespace {

using dnnl::memory;

// oneDNN has the gates in the order z, r, n, and one bias with a fourth part: that of the recurrent
// product of n. Other gates add both biases.

constexpr int64_t kGates = 3;                            // r, z, n, in the order of GruProblem
constexpr std::array<int64_t, kGates> kPlaces{1, 0, 2};  // their places in oneDNN
constexpr std::array<int64_t, kGates> kRecurrentBiasPlaces{1, 0, 3};

/// Weights [3H, I] in oneDNN's order, [I, 3, H].
memory::desc packed(const Buffer& buffer, memory::data_type type) {
  return {
      {1, 1, buffer.sizes[1], kGates, buffer.sizes[0] / kGates}, type, memory::format_tag::ldigo};
}

/// Part `place` of weights [I, 3, H] or of a bias [4, H].
memory part(const memory& all, int64_t place) {
  memory::dims sizes = all.get_desc().get_dims();
  memory::dims offsets(sizes.size(), 0);
  const std::size_t gates = sizes.size() - 2;
  sizes[gates] = 1;
  offsets[gates] = place;
  return {all.get_desc().submemory_desc(sizes, offsets), engine(), all.get_data_handle()};
}

/// Gate `gate` of weights [3H, I] or of a bias [3H].
memory gate_of(const Buffer& buffer, int64_t gate) {
  const int64_t width = buffer.sizes[0] / kGates;
  const int64_t row = buffer.strides[0];
  const int64_t bytes = buffer.element == Element::kFp32 ? 4 : 2;
  const memory::data_type type = layout(buffer).get_data_type();
  const int64_t all = width * row;
  const memory::desc desc =
      buffer.sizes.size() == 1
          ? memory::desc({1, 1, 1, width}, type, memory::dims{all, all, all, row})
          : memory::desc({1, 1, buffer.sizes[1], 1, width}, type,
                         memory::dims{all, all, buffer.strides[1], all, row});
  return {desc, engine(), static_cast<char*>(buffer.data) + gate * all * bytes};
}

void copy(memory from, memory to, const dnnl::primitive_attr& attributes = {}) {
  dnnl::stream stream(engine());
  dnnl::reorder(from, to, attributes).execute(stream, from, to);
  stream.wait();
}

memory packed_weights(const Buffer& weights) {
  memory made(packed(weights, layout(weights).get_data_type()), engine());
  for (int64_t gate = 0; gate < kGates; ++gate) {
    copy(gate_of(weights, gate), part(made, kPlaces[static_cast<std::size_t>(gate)]));
  }
  return made;
}

memory packed_bias(const GruProblem::Inputs& inputs, const memory::desc& desc) {
  memory made = zeros(desc);
  dnnl::post_ops adds;
  adds.append_sum();
  dnnl::primitive_attr adding;
  adding.set_post_ops(adds);
  for (std::size_t gate = 0; gate < kGates; ++gate) {
    const auto number = static_cast<int64_t>(gate);
    copy(gate_of(inputs.input_bias, number), part(made, kPlaces[gate]), adding);
    copy(gate_of(inputs.recurrent_bias, number), part(made, kRecurrentBiasPlaces[gate]), adding);
  }
  return made;
}

/// Describes both passes.
class GruLayer {
 public:
  explicit GruLayer(const GruProblem& problem)
      : x_(layout(problem.inputs.x)),
        states_(state(problem.inputs.h)),
        input_weight_(packed(problem.inputs.input_weight, x_.get_data_type())),
        recurrent_weight_(packed(problem.inputs.recurrent_weight, x_.get_data_type())),
        bias_({1, 1, kGates + 1, problem.inputs.h.sizes[1]}, memory::data_type::f32,
              memory::format_tag::ldgo),
        y_(layout(problem.y)) {}

  const memory::desc& bias() const { return bias_; }
  memory::desc state_gradient() const { return gradient(states_); }

  dnnl::lbr_gru_forward::primitive_desc forward() const {
    const auto type = x_.get_data_type();
    return {engine(),
            dnnl::prop_kind::forward_training,
            dnnl::rnn_direction::unidirectional_left2right,
            x_,
            states_,
            any(input_weight_, type),
            any(recurrent_weight_, type),
            bias_,
            y_,
            states_};
  }

  /// Uses the C interface, as for an LSTM: it has a flag to overwrite the gradients of the weights.
  dnnl::primitive_desc_base backward() const {
    const auto type = x_.get_data_type();
    constexpr auto fp32 = memory::data_type::f32;
    const memory::desc dstates = gradient(states_);
    dnnl_primitive_desc_t made = nullptr;
    dnnl::error::wrap_c_api(
        dnnl_lbr_gru_backward_primitive_desc_create(
            &made, engine().get(), dnnl_backward, dnnl_unidirectional_left2right, x_.get(),
            states_.get(), any(input_weight_, type).get(), any(recurrent_weight_, type).get(),
            bias_.get(), y_.get(), states_.get(), gradient(x_).get(), dstates.get(),
            any(input_weight_, fp32).get(), any(recurrent_weight_, fp32).get(), bias_.get(),
            gradient(y_).get(), dstates.get(), dnnl_rnn_flags_diff_weights_overwrite,
            forward().get(), nullptr),
        "could not describe the backward pass of a GRU");
    return dnnl::primitive_desc_base(made);
  }

 private:
  memory::desc x_, states_, input_weight_, recurrent_weight_, bias_, y_;
};

/// A layer with its weights in oneDNN's order.
class Gru final : public Kernel {
 public:
  explicit Gru(const GruProblem& problem)
      : input_weight_(packed_weights(problem.inputs.input_weight)),
        recurrent_weight_(packed_weights(problem.inputs.recurrent_weight)) {
    const GruLayer layer(problem);
    const auto forward = [&] { return layer.forward(); };
    const auto& [x, h, input_weight, recurrent_weight, input_bias, recurrent_bias] = problem.inputs;
    std::vector<Argument> inputs{{DNNL_ARG_SRC_LAYER, x},
                                 {DNNL_ARG_SRC_ITER, h, state(h)},
                                 {DNNL_ARG_WEIGHTS_LAYER, input_weight_},
                                 {DNNL_ARG_WEIGHTS_ITER, recurrent_weight_}};
    Primitive::Memories memories{{DNNL_ARG_BIAS, packed_bias(problem.inputs, layer.bias())}};
    if (!problem.gradients) {
      const std::vector<Argument> outputs{{DNNL_ARG_DST_LAYER, problem.y}};
      primitive_ = std::make_unique<Primitive>(forward, inputs, outputs, memories);
      return;
    }
    Primitive forward_pass(forward, inputs, {}, memories);
    forward_pass.run();
    for (const int name : {DNNL_ARG_DST_LAYER, DNNL_ARG_DST_ITER, DNNL_ARG_WORKSPACE}) {
      memories.emplace(name, forward_pass.argument(name));
    }
    memories.emplace(DNNL_ARG_DIFF_DST_ITER, zeros(layer.state_gradient()));
    inputs.emplace_back(DNNL_ARG_DIFF_DST_LAYER, problem.y);
    const GruProblem::Inputs& g = *problem.gradients;
    constexpr auto fp32 = memory::data_type::f32;
    const memory dinput(packed(g.input_weight, fp32), engine());
    const memory drecurrent(packed(g.recurrent_weight, fp32), engine());
    const memory dbias(layer.bias(), engine());
    const std::vector<Argument> outputs{{DNNL_ARG_DIFF_SRC_LAYER, g.x},
                                        {DNNL_ARG_DIFF_SRC_ITER, g.h, state(g.h)},
                                        {DNNL_ARG_DIFF_WEIGHTS_LAYER, dinput},
                                        {DNNL_ARG_DIFF_WEIGHTS_ITER, drecurrent},
                                        {DNNL_ARG_DIFF_BIAS, dbias}};
    for (std::size_t gate = 0; gate < kGates; ++gate) {
      const auto number = static_cast<int64_t>(gate);
      gates_.emplace_back(part(dinput, kPlaces[gate]), gate_of(g.input_weight, number));
      gates_.emplace_back(part(drecurrent, kPlaces[gate]), gate_of(g.recurrent_weight, number));
      gates_.emplace_back(part(dbias, kPlaces[gate]), gate_of(g.input_bias, number));
      gates_.emplace_back(part(dbias, kRecurrentBiasPlaces[gate]),
                          gate_of(g.recurrent_bias, number));
    }
    kept_ = {dinput, drecurrent, dbias};
    primitive_ =
        std::make_unique<Primitive>([&] { return layer.backward(); }, inputs, outputs, memories);
  }

  void run() override { primitive_->run(); }
  void write_outputs() override {
    primitive_->write_outputs();
    for (const auto& [from, to] : gates_) copy(from, to);
  }
  std::string implementation() const override { return primitive_->implementation(); }
  std::vector<std::pair<std::string, double>> counters() const override {
    return primitive_->counters();
  }

 private:
  memory input_weight_, recurrent_weight_;
  std::vector<memory> kept_;                      ///< the gradients in oneDNN's order
  std::vector<std::pair<memory, memory>> gates_;  ///< their parts, and the caller's memory of each
  std::unique_ptr<Primitive> primitive_;
};

}  // namespace

std::unique_ptr<Kernel> make(const GruProblem& problem) { return std::make_unique<Gru>(problem); }

}  // namespace fathom::ops::onednn
