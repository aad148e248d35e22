// deepspeech2: Amodei et al., "Deep Speech 2: End-to-End Speech Recognition in English and
// Mandarin", 2015, in the size of MLPerf's speech recognition: two convolutions over frequency and
// time, five bidirectional GRU layers of 800 units whose directions are added, and the symbols. The
// loss is connectionist temporal classification (CTC).
#include <ATen/OpMathType.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/log_softmax.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "fixtures/speech/letters.h"
#include "fixtures/speech/spectrograms.h"
#include "models/ctc.h"
#include "models/optimizers.h"
#include "models/table.h"
#include "ops/kernels/recurrent/clipped_relu_rnn.h"
#include "ops/kernels/recurrent/gru_layers.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;

/// {along frequency, along time}
using Extents = std::array<int64_t, 2>;

struct Sizes {
  fixtures::SpectrogramShape spectrogram;
  int64_t channels;  ///< of both convolutions
  Extents kernel1;
  Extents kernel2;
  int64_t layers;  ///< recurrent
  int64_t width;   ///< units of a recurrent layer in one direction
};

constexpr Extents kStride1{2, 2};
constexpr Extents kStride2{2, 1};
constexpr Sizes kDeepSpeech2{{}, 32, {41, 11}, {21, 11}, 5, 800};
constexpr Sizes kSmall{{.frames = 60, .bins = 33}, 4, {9, 5}, {5, 3}, 3, 16};
constexpr double kMaxNorm = 400;

/// The extent along `axis` after both convolutions, which have no padding.
int64_t convolved(const Sizes& sizes, std::size_t axis, int64_t extent) {
  const int64_t between = (extent - sizes.kernel1[axis]) / kStride1[axis] + 1;
  return (between - sizes.kernel2[axis]) / kStride2[axis] + 1;
}

int64_t frames_after(const Sizes& sizes, int64_t frames) { return convolved(sizes, 1, frames); }

/// A bidirectional GRU layer: [T, N, inputs] to the sum of both directions [T, N, width].
class BiGruImpl : public nn::Module {
 public:
  BiGruImpl(int64_t inputs, int64_t width)
      : ahead_(direction(inputs, width, "")), back_(direction(inputs, width, "_reverse")) {}

  at::Tensor forward(const at::Tensor& x) { return ops::bidirectional_gru(x, ahead_, back_); }

 private:
  /// Weights as torch::nn::GRU initialises them.
  ops::GruWeights direction(int64_t inputs, int64_t width, const std::string& suffix) {
    const double bound = 1 / std::sqrt(static_cast<double>(width));
    const auto weight = [&](const char* name, at::IntArrayRef sizes) {
      return register_parameter(name + suffix, at::empty(sizes).uniform_(-bound, bound));
    };
    return {.input = weight("weight_ih", {3 * width, inputs}),
            .recurrent = weight("weight_hh", {3 * width, width}),
            .input_bias = weight("bias_ih", {3 * width}),
            .recurrent_bias = weight("bias_hh", {3 * width})};
  }

  ops::GruWeights ahead_;
  ops::GruWeights back_;
};
TORCH_MODULE(BiGru);

class DeepSpeech2Impl : public nn::Module {
 public:
  explicit DeepSpeech2Impl(const Sizes& sizes) {
    const auto convolution = [&](const char* name, int64_t in, const Extents& kernel,
                                 const Extents& stride) {
      return register_module(
          name, nn::Conv2d(nn::Conv2dOptions(in, sizes.channels, kernel).stride(stride)));
    };
    conv1_ = convolution("conv1", 1, sizes.kernel1, kStride1);
    conv1_norm_ = register_module("conv1_bn", nn::BatchNorm2d(sizes.channels));
    conv2_ = convolution("conv2", sizes.channels, sizes.kernel2, kStride2);
    conv2_norm_ = register_module("conv2_bn", nn::BatchNorm2d(sizes.channels));
    int64_t inputs = sizes.channels * convolved(sizes, 0, sizes.spectrogram.bins);
    for (int64_t layer = 1; layer <= sizes.layers; ++layer) {
      const std::string name = "gru" + std::to_string(layer);
      if (layer > 1) {
        gru_norms_.emplace_back(register_module(name + "_bn", nn::BatchNorm1d(sizes.width)));
      }
      grus_.emplace_back(register_module(name, BiGru(inputs, sizes.width)));
      inputs = sizes.width;
    }
    fc_norm_ = register_module("fc_bn", nn::BatchNorm1d(sizes.width));
    fc_ = register_module(
        "fc", nn::Linear(nn::LinearOptions(sizes.width, fixtures::kLetterClasses).bias(false)));
  }

  /// Maps spectrograms [N, 1, bins, frames] to logits [T, N, classes].
  at::Tensor forward(const at::Tensor& spectrograms) {
    at::Tensor x = clipped(conv1_norm_(conv1_(spectrograms)));
    x = clipped(conv2_norm_(conv2_(x)));
    x = x.flatten(1, 2).permute({2, 0, 1}).contiguous();
    for (std::size_t layer = 0; layer < grus_.size(); ++layer) {
      if (layer > 0) x = normalised(gru_norms_[layer - 1], x);
      x = grus_[layer](x);
    }
    return fc_(normalised(fc_norm_, x));
  }

 private:
  static at::Tensor clipped(at::Tensor x) { return at::hardtanh_(x, 0, ops::kClip); }

  /// Over the frames and utterances of [T, N, width], also those after an utterance's end.
  static at::Tensor normalised(nn::BatchNorm1d& norm, const at::Tensor& x) {
    return norm(x.flatten(0, 1)).view_as(x);
  }

  nn::Conv2d conv1_{nullptr};
  nn::BatchNorm2d conv1_norm_{nullptr};
  nn::Conv2d conv2_{nullptr};
  nn::BatchNorm2d conv2_norm_{nullptr};
  std::vector<BiGru> grus_;
  std::vector<nn::BatchNorm1d> gru_norms_;  ///< of the second layer's input and on
  nn::BatchNorm1d fc_norm_{nullptr};
  nn::Linear fc_{nullptr};
};
TORCH_MODULE(DeepSpeech2);

class DeepSpeech2Workload final : public Workload {
 public:
  explicit DeepSpeech2Workload(const Sizes& sizes) : sizes_(sizes), net_(sizes) {}

  /// Appends what CTC takes: the frames that the convolutions leave.
  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    fixtures::BatchSet set = fixtures::spectrograms(sizes_.spectrogram, request);
    for (auto& batch : set.batches) {
      const at::Tensor frames = batch[fixtures::kSpectrogramFrames].clone();
      auto* counts = frames.mutable_data_ptr<int64_t>();
      for (int64_t n = 0; n < frames.numel(); ++n) counts[n] = frames_after(sizes_, counts[n]);
      append_ctc_targets(batch, batch[fixtures::kLetters], frames, batch[fixtures::kLetterCounts]);
    }
    return set;
  }
  std::vector<int64_t> output_shape(int64_t batch) const override {
    return {batch, frames_after(sizes_, sizes_.spectrogram.frames), fixtures::kLetterClasses};
  }

  at::Tensor infer(const fixtures::Batch& batch) override {
    return net_->forward(batch[fixtures::kSpectrograms]).transpose(0, 1);
  }
  /// CTC loss in float, averaged over the utterances.
  at::Tensor loss(const fixtures::Batch& batch) override {
    const at::Tensor logits = net_->forward(batch[fixtures::kSpectrograms]);
    return ctc_losses(at::log_softmax(logits, -1, at::toOpMathType(logits.scalar_type())), batch)
        .mean();
  }
  void update() override {
    clip_norm(*net_, kMaxNorm);
    optimizer_.step(*net_);
  }

  nn::Module& module() override { return *net_; }
  std::vector<at::Tensor> optimizer_state() const override { return optimizer_.state(); }

 private:
  Sizes sizes_;
  DeepSpeech2 net_;
  Optimizer optimizer_ = nesterov(3e-4, 0.9, 0);
};

}  // namespace

std::unique_ptr<Workload> make_deepspeech2(Scale scale) {
  return std::make_unique<DeepSpeech2Workload>(scale == Scale::kFull ? kDeepSpeech2 : kSmall);
}

}  // namespace fathom::models
