#include <array>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/backends/cuda/cudnn_descriptors.h"
#include "ops/backends/cuda/fastest.h"

namespace fathom::ops::cuda {
namespace {

using Rnn = Descriptor<cudnnRNNDescriptor_t, cudnnCreateRNNDescriptor, cudnnDestroyRNNDescriptor>;
using Sequence = Descriptor<cudnnRNNDataDescriptor_t, cudnnCreateRNNDataDescriptor,
                            cudnnDestroyRNNDataDescriptor>;
using Dropout = Descriptor<cudnnDropoutDescriptor_t, cudnnCreateDropoutDescriptor,
                           cudnnDestroyDropoutDescriptor>;

/// One LSTM or GRU layer. Its gates have the order of LstmProblem or GruProblem, which is cuDNN's.
struct Layer {
  struct Inputs {
    Buffer x, h;
    std::optional<Buffer> c;  ///< of an LSTM
    Buffer input_weight, recurrent_weight;
    std::vector<Buffer> biases;
  };

  explicit Layer(const LstmProblem& lstm)
      : mode(CUDNN_LSTM),
        gates(4),
        inputs(of(lstm.inputs)),
        y(lstm.y),
        last_h(lstm.last_h),
        last_c(lstm.last_c) {
    if (lstm.gradients) gradients = of(*lstm.gradients);
  }
  explicit Layer(const GruProblem& gru)
      : mode(CUDNN_GRU), gates(3), inputs(of(gru.inputs)), y(gru.y) {
    if (gru.gradients) gradients = of(*gru.gradients);
  }

  cudnnRNNMode_t mode;
  int gates;
  Inputs inputs;
  Buffer y;
  std::optional<Buffer> last_h = {};
  std::optional<Buffer> last_c = {};
  std::optional<Inputs> gradients = {};

 private:
  static Inputs of(const LstmProblem::Inputs& lstm) {
    return {lstm.x, lstm.h, lstm.c, lstm.input_weight, lstm.recurrent_weight, lstm.biases};
  }
  static Inputs of(const GruProblem::Inputs& gru) {
    return {gru.x,
            gru.h,
            {},
            gru.input_weight,
            gru.recurrent_weight,
            {gru.input_bias, gru.recurrent_bias}};
  }
};

void* data_of(const std::optional<Buffer>& buffer) { return buffer ? buffer->data : nullptr; }

struct DestroyStream {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};

/// The reserve space of a forward pass, which a backward pass reads and overwrites. Two copies take
/// turns: one is restored on another stream while a pass uses the other one. So neither a pass
/// waits for a copy, nor whoever waits for the stream of the passes only, as the timed loop does.
class Reserve {
 public:
  Reserve(Memory kept, std::size_t bytes, cudaStream_t stream)
      : kept_(std::move(kept)), bytes_(bytes), stream_(stream) {
    cudaStream_t made = nullptr;
    // Other streams wait for the default one, LibTorch's, unless they are of this kind.
    check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    copies_stream_.reset(made);
    for (Copy& copy : copies_) {
      copy.data = allocate(bytes_);
      release(copy);
    }
  }

  /// Calls use(memory), which enqueues the pass on the stream.
  template <typename Use>
  void with_copy(const Use& use) {
    Copy& copy = copies_[next_];
    next_ = 1 - next_;
    check(cudaStreamWaitEvent(stream_, copy.restored.get()));
    use(copy.data.get());
    release(copy);
  }

 private:
  struct Copy {
    Memory data;
    Event used = event(cudaEventDisableTiming);
    Event restored = event(cudaEventDisableTiming);
  };

  void release(Copy& copy) {
    check(cudaEventRecord(copy.used.get(), stream_));
    check(cudaStreamWaitEvent(copies_stream_.get(), copy.used.get()));
    check(cudaMemcpyAsync(copy.data.get(), kept_.get(), bytes_, cudaMemcpyDeviceToDevice,
                          copies_stream_.get()));
    check(cudaEventRecord(copy.restored.get(), copies_stream_.get()));
  }

  Memory kept_;
  std::size_t bytes_;
  cudaStream_t stream_;
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyStream> copies_stream_;
  std::array<Copy, 2> copies_;
  std::size_t next_ = 0;
};

/// A layer in one of cuDNN's algorithms, with all memory that it needs.
class Recurrent {
 public:
  Recurrent(const Layer& layer, const Target& target, cudnnRNNAlgo_t algorithm)
      : layer_(layer), stream_(target.stream), handle_(cudnn_handle(target.stream)) {
    const auto& inputs = layer.inputs;
    for (const Buffer* buffer : {&inputs.x, &inputs.h, &layer.y}) expect_contiguous(*buffer);
    for (const auto* buffer : {&inputs.c, &layer.last_c}) {
      if (*buffer) expect_contiguous(**buffer);
    }
    describe(target, algorithm);
    check(cudnnGetRNNWeightSpaceSize(handle_, rnn_, &weight_bytes_));
    weights_ = allocate(weight_bytes_);
    check(cudaMemsetAsync(weights_.get(), 0, weight_bytes_, stream_));
    each_weight(weights_.get(), inputs,
                [&](const Rows& packed, const Rows& given) { copy(packed, given, stream_); });
    check(cudnnGetRNNTempSpaceSizes(handle_, rnn_, CUDNN_FWD_MODE_TRAINING, xs_, &scratch_bytes_,
                                    &reserve_bytes_));
    scratch_ = workspace(scratch_bytes_);
    reserve_ = allocate(reserve_bytes_);
    if (!layer_.gradients) return;
    y_ = allocate(bytes(layer_.y));
    run_forward(y_.get(), nullptr, nullptr);
    copies_.emplace(reserve_, reserve_bytes_, stream_);
    dweights_ = allocate(weight_bytes_);
    clear_weight_gradients();
  }

  void run() {
    if (layer_.gradients) {
      run_backward();
    } else {
      run_forward(layer_.y.data, data_of(layer_.last_h), data_of(layer_.last_c));
    }
  }

  /// Runs the backward pass once more, because each one adds to the gradients of the weights, and
  /// copies these out of cuDNN's weight space.
  void write_outputs() {
    if (!layer_.gradients) return;
    clear_weight_gradients();
    run_backward();
    each_weight(dweights_.get(), *layer_.gradients,
                [&](const Rows& packed, const Rows& given) { copy(given, packed, stream_); });
  }

  std::size_t workspace_bytes() const { return scratch_bytes_; }

 private:
  void describe(const Target& target, cudnnRNNAlgo_t algorithm) {
    const Buffer& x = layer_.inputs.x;
    const cudnnDataType_t type = data_type(x.element);
    const int steps = to_int(x.sizes[0]);
    const int n = to_int(x.sizes[1]);
    const int inputs = to_int(x.sizes[2]);
    const int width = to_int(layer_.inputs.h.sizes[1]);
    constexpr std::array kBiases{CUDNN_RNN_NO_BIAS, CUDNN_RNN_SINGLE_INP_BIAS,
                                 CUDNN_RNN_DOUBLE_BIAS};
    check(cudnnSetDropoutDescriptor(no_dropout_, handle_, 0, nullptr, 0, 0));
    check(cudnnSetRNNDescriptor_v8(
        rnn_, algorithm, layer_.mode, kBiases.at(layer_.inputs.biases.size()), CUDNN_UNIDIRECTIONAL,
        CUDNN_LINEAR_INPUT, type, CUDNN_DATA_FLOAT, math_type(x.element, target.tf32), inputs,
        width, width, 1, no_dropout_, CUDNN_RNN_PADDED_IO_DISABLED));
    const std::vector<int32_t> lengths(static_cast<std::size_t>(n), steps);
    for (const auto& [sequence, extent] : {std::pair(xs_, inputs), std::pair(ys_, width)}) {
      check(cudnnSetRNNDataDescriptor(sequence, type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, steps,
                                      n, extent, lengths.data(), nullptr));
    }
    lengths_ = allocate(lengths.size() * sizeof(int32_t));
    check(cudaMemcpyAsync(lengths_.get(), lengths.data(), lengths.size() * sizeof(int32_t),
                          cudaMemcpyHostToDevice, stream_));
    check(cudaStreamSynchronize(stream_));
    state_ = contiguous_tensor(x.element, {1, n, width}, 3);
  }

  /// Calls visit(rows in cuDNN's weight space, rows of the problem) for each gate of each weight.
  template <typename Visit>
  void each_weight(void* packed, const Layer::Inputs& all, const Visit& visit) const {
    for (int id = 0; id < 2 * layer_.gates; ++id) {
      const bool recurrent = id >= layer_.gates;
      Tensor matrix_desc;
      Tensor bias_desc;
      void* matrix = nullptr;
      void* bias = nullptr;
      check(cudnnGetRNNWeightParams(handle_, rnn_, 0, weight_bytes_, packed, id, matrix_desc,
                                    &matrix, bias_desc, &bias));
      const auto visit_gate = [&](void* place, const Buffer& of) {
        const Rows given = part(of, id % layer_.gates, layer_.gates);
        visit({place, given.bytes, given.bytes, given.count}, given);
      };
      visit_gate(matrix, recurrent ? all.recurrent_weight : all.input_weight);
      if (const std::size_t which = recurrent ? 1 : 0; which < all.biases.size())
        visit_gate(bias, all.biases[which]);
    }
  }

  void run_forward(void* y, void* last_h, void* last_c) const {
    const auto& inputs = layer_.inputs;
    check(cudnnRNNForward(handle_, rnn_, CUDNN_FWD_MODE_TRAINING, lengths(), xs_, inputs.x.data,
                          ys_, y, state_, inputs.h.data, last_h, state_, data_of(inputs.c), last_c,
                          weight_bytes_, weights_.get(), scratch_bytes_, scratch_.get(),
                          reserve_bytes_, reserve_.get()));
  }

  void run_backward() {
    const auto& inputs = layer_.inputs;
    const auto& gradients = *layer_.gradients;
    copies_->with_copy([&](void* reserve) {
      check(cudnnRNNBackwardData_v8(
          handle_, rnn_, lengths(), ys_, y_.get(), layer_.y.data, xs_, gradients.x.data, state_,
          inputs.h.data, data_of(layer_.last_h), gradients.h.data, state_, data_of(inputs.c),
          data_of(layer_.last_c), data_of(gradients.c), weight_bytes_, weights_.get(),
          scratch_bytes_, scratch_.get(), reserve_bytes_, reserve));
      check(cudnnRNNBackwardWeights_v8(handle_, rnn_, CUDNN_WGRAD_MODE_ADD, lengths(), xs_,
                                       inputs.x.data, state_, inputs.h.data, ys_, y_.get(),
                                       weight_bytes_, dweights_.get(), scratch_bytes_,
                                       scratch_.get(), reserve_bytes_, reserve));
    });
  }

  void clear_weight_gradients() const {
    check(cudaMemsetAsync(dweights_.get(), 0, weight_bytes_, stream_));
  }

  const int32_t* lengths() const { return static_cast<const int32_t*>(lengths_.get()); }

  Layer layer_;
  cudaStream_t stream_;
  cudnnHandle_t handle_;
  Rnn rnn_;
  Dropout no_dropout_;
  Sequence xs_, ys_;
  Tensor state_;
  std::size_t weight_bytes_ = 0;
  std::size_t scratch_bytes_ = 0;
  std::size_t reserve_bytes_ = 0;
  Memory lengths_, weights_, dweights_, scratch_, reserve_, y_;
  std::optional<Reserve> copies_;  ///< of the reserve space, for the backward pass
};

struct NamedAlgorithm {
  cudnnRNNAlgo_t algorithm;
  const char* name;
};

constexpr std::array kAlgorithms{
    NamedAlgorithm{CUDNN_RNN_ALGO_STANDARD, "RNN_ALGO_STANDARD"},
    NamedAlgorithm{CUDNN_RNN_ALGO_PERSIST_STATIC, "RNN_ALGO_PERSIST_STATIC"},
    NamedAlgorithm{CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H, "RNN_ALGO_PERSIST_STATIC_SMALL_H"}};

NamedAlgorithm fastest(const Layer& layer, const Target& target) {
  Fastest<NamedAlgorithm> fastest;
  for (const NamedAlgorithm& one : kAlgorithms) {
    fastest.attempt([&] {
      Recurrent recurrent(layer, target, one.algorithm);
      fastest.offer(one, best_milliseconds(target.stream, [&] { recurrent.run(); }));
    });
  }
  return fastest.found("cuDNN has no algorithm for this layer");
}

Plan plan(const Layer& layer, const Target& target) {
  Key key{static_cast<int64_t>(layer.mode), static_cast<int64_t>(target.tf32),
          layer.gradients ? 1 : 0, static_cast<int64_t>(layer.inputs.biases.size())};
  for (const Buffer* buffer : {&layer.inputs.x, &layer.inputs.h}) add(key, *buffer);
  const auto found = autotuned(key, [&] { return fastest(layer, target); });
  const auto recurrent = std::make_shared<Recurrent>(layer, target, found.choice.algorithm);
  return {.implementation = found.choice.name,
          .run = [recurrent] { recurrent->run(); },
          .write_outputs = [recurrent] { recurrent->write_outputs(); },
          .workspace_bytes = recurrent->workspace_bytes(),
          .search_us = found.us};
}

}  // namespace

Plan cudnn_plan(const LstmProblem& problem, const Target& target) {
  return plan(Layer(problem), target);
}

Plan cudnn_plan(const GruProblem& problem, const Target& target) {
  return plan(Layer(problem), target);
}

}  // namespace fathom::ops::cuda
