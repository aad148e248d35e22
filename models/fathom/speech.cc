// speech: Hannun et al., "Deep Speech: Scaling up end-to-end speech recognition", 2014, section 2,
// with the size and the phones of Fathom's paper: three dense layers, the sum of a forward and a
// backward recurrent layer, a dense layer and the classes. The loss is connectionist temporal
// classification (CTC, Graves et al. 2006).
// speech_150: the same network on 150 frames.
// speech_repo: Fathom's released code. The output of its recurrent layer is not used, so the
// network has three dense layers of 1024 units and the classes, which are clipped too. The release
// initialises all weights with zero, where they stay; here they start as in Glorot and Bengio 2010.
#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/log_softmax.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/linear.h>

#include "fixtures/speech/utterances.h"
#include "models/ctc.h"
#include "models/optimizers.h"
#include "models/table.h"
#include "ops/kernels/recurrent/clipped_relu_rnn.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;

struct Sizes {
  fixtures::UtteranceShape utterance;
  int64_t width;          ///< units of every layer
  bool recurrent = true;  ///< if false, the clipped classes follow the third layer
};

constexpr Sizes kSpeech{{.frames = 1566}, 2048};
constexpr Sizes kSpeech150{{.frames = 150}, 2048};
constexpr Sizes kSpeechRepo{{.frames = 1566}, 1024, /*recurrent=*/false};
constexpr Sizes kSmall{{.frames = 60, .phones = 9, .labels = 10}, 32};
constexpr double kMaxNorm = 5;

class DeepSpeechImpl : public nn::Module {
 public:
  explicit DeepSpeechImpl(const Sizes& sizes) : recurrent_(sizes.recurrent) {
    const auto dense = [&](const char* name, int64_t in, int64_t out) {
      return register_module(name, nn::Linear(in, out));
    };
    dense1_ = dense("dense1", sizes.utterance.features, sizes.width);
    dense2_ = dense("dense2", sizes.width, sizes.width);
    dense3_ = dense("dense3", sizes.width, sizes.width);
    if (recurrent_) {
      input4_ = dense("input4", sizes.width, sizes.width);
      forward4_ = register_parameter("forward4", at::empty({sizes.width, sizes.width}));
      backward4_ = register_parameter("backward4", at::empty({sizes.width, sizes.width}));
      dense5_ = dense("dense5", sizes.width, sizes.width);
    }
    classes_ = dense("classes", sizes.width, sizes.utterance.phones + 1);
    const torch::NoGradGuard no_grad;
    for (auto& parameter : parameters()) {
      if (parameter.dim() > 1) {
        nn::init::xavier_uniform_(parameter);
      } else {
        parameter.zero_();
      }
    }
  }

  /// Maps features [N, T, features] and frame counts [N] to logits [T, N, phones + 1]. Both
  /// directions of layer 4 share its product with the input, which is computed for all frames at
  /// once.
  at::Tensor forward(const at::Tensor& features, const at::Tensor& frames) {
    at::Tensor x = features.transpose(0, 1).contiguous();
    for (auto* layer : {&dense1_, &dense2_, &dense3_}) x = clipped((*layer)(x));
    if (!recurrent_) return clipped(classes_(x));
    x = input4_(x);
    x = ops::clipped_relu_rnn(x, forward4_, frames, ops::Direction::kForward) +
        ops::clipped_relu_rnn(x, backward4_, frames, ops::Direction::kBackward);
    return classes_(clipped(dense5_(x)));
  }

 private:
  static at::Tensor clipped(const at::Tensor& x) { return at::hardtanh(x, 0, ops::kClip); }

  bool recurrent_;
  nn::Linear dense1_{nullptr};
  nn::Linear dense2_{nullptr};
  nn::Linear dense3_{nullptr};
  nn::Linear input4_{nullptr};
  at::Tensor forward4_;
  at::Tensor backward4_;
  nn::Linear dense5_{nullptr};
  nn::Linear classes_{nullptr};
};
TORCH_MODULE(DeepSpeech);

class Speech final : public Workload {
 public:
  explicit Speech(const Sizes& sizes) : sizes_(sizes), net_(sizes) {}

  /// Appends what CTC takes.
  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    fixtures::BatchSet set = fixtures::utterances(sizes_.utterance, request);
    for (auto& batch : set.batches) {
      append_ctc_targets(batch, batch[fixtures::kPhones] + 1, batch[fixtures::kFrameCounts],
                         batch[fixtures::kPhoneCounts]);
    }
    return set;
  }
  std::vector<int64_t> output_shape(int64_t batch) const override {
    return {batch, sizes_.utterance.frames, sizes_.utterance.phones + 1};
  }

  at::Tensor infer(const fixtures::Batch& batch) override { return logits(batch).transpose(0, 1); }
  /// CTC loss in float, averaged over the utterances. The network's blank is the last class.
  /// cuDNN requires that the blank is class 0 and that the labels are one concatenated list of
  /// 32-bit integers, so the classes are rotated by one.
  at::Tensor loss(const fixtures::Batch& batch) override {
    const at::Tensor scores = logits(batch);
    const at::Tensor log_probabilities =
        at::log_softmax(scores, -1, at::toOpMathType(scores.scalar_type())).roll(1, -1);
    return ctc_losses(log_probabilities, batch).mean();
  }
  void update() override {
    clip_norm(*net_, kMaxNorm);
    optimizer_.step(*net_);
  }

  nn::Module& module() override { return *net_; }
  std::vector<at::Tensor> optimizer_state() const override { return optimizer_.state(); }

 private:
  at::Tensor logits(const fixtures::Batch& batch) {
    return net_->forward(batch[fixtures::kFeatures], batch[fixtures::kFrameCounts]);
  }

  Sizes sizes_;
  DeepSpeech net_;
  Optimizer optimizer_ = sgd(0.01);
};

}  // namespace

std::unique_ptr<Workload> make_speech(Scale scale) {
  return std::make_unique<Speech>(scale == Scale::kFull ? kSpeech : kSmall);
}

std::unique_ptr<Workload> make_speech_150(Scale scale) {
  return std::make_unique<Speech>(scale == Scale::kFull ? kSpeech150 : kSmall);
}

std::unique_ptr<Workload> make_speech_repo(Scale scale) {
  Sizes small = kSmall;
  small.recurrent = false;
  return std::make_unique<Speech>(scale == Scale::kFull ? kSpeechRepo : small);
}

}  // namespace fathom::models
