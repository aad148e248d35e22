// transformer: Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser and Polosukhin, "Attention
// Is All You Need", 2017: the base model in the form that TBD runs, tensor2tensor's
// transformer_base_v2, with the normalisation first. Inference is greedy.
#include <torch/nn/functional/loss.h>

#include <cmath>

#include "fixtures/text/subword_pairs.h"
#include "models/optimizers.h"
#include "models/table.h"
#include "models/tbd/transformer_net.h"

namespace fathom::models {
namespace {

constexpr double kSmoothing = 0.1;  // of labels
constexpr double kRateScale = 2;    // for the square root of the width
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.98;
constexpr double kEpsilon = 1e-9;

struct Sizes {
  TransformerSizes net;
  int64_t shortest;  ///< positions of the shortest made-up sentence
  double warm_up;    ///< training steps
};

Sizes sizes_of(Scale scale) {
  if (scale == Scale::kFull) {
    return {.net = {.vocabulary = 37'000,
                    .positions = 32,
                    .layers = 6,
                    .heads = 8,
                    .width = 512,
                    .hidden = 2'048},
            .shortest = 24,
            .warm_up = 16'000};
  }
  return {
      .net =
          {.vocabulary = 64, .positions = 8, .layers = 2, .heads = 4, .width = 64, .hidden = 128},
      .shortest = 6,
      .warm_up = 400};
}

class Transformer final : public Workload {
 public:
  explicit Transformer(const Sizes& sizes)
      : sizes_(sizes),
        net_(sizes.net),
        optimizer_(adam({.rate = kRateScale / std::sqrt(static_cast<double>(sizes.net.width)),
                         .beta1 = kBeta1,
                         .beta2 = kBeta2,
                         .epsilon = kEpsilon,
                         .warm_up = sizes.warm_up})) {}

  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    return fixtures::subword_pairs({.vocabulary = sizes_.net.vocabulary,
                                    .positions = sizes_.net.positions,
                                    .shortest = sizes_.shortest},
                                   request);
  }
  /// Logits of each id of the translations.
  std::vector<int64_t> output_shape(int64_t batch) const override {
    return {sizes_.net.positions, batch, sizes_.net.vocabulary};
  }

  at::Tensor infer(const fixtures::Batch& batch) override {
    return net_->translate(batch[fixtures::kSourceSubwords]);
  }
  /// The mean over the target's ids without padding.
  at::Tensor loss(const fixtures::Batch& batch) override {
    const at::Tensor states =
        net_(batch[fixtures::kSourceSubwords], batch[fixtures::kPreviousSubwords]);
    return torch::nn::functional::cross_entropy(net_->logits(states).flatten(0, 1),
                                                batch[fixtures::kTargetSubwords].flatten(),
                                                torch::nn::functional::CrossEntropyFuncOptions()
                                                    .ignore_index(fixtures::kPaddingId)
                                                    .label_smoothing(kSmoothing));
  }
  void update() override { optimizer_.step(*net_); }

  torch::nn::Module& module() override { return *net_; }
  std::vector<at::Tensor> optimizer_state() const override { return optimizer_.state(); }

 private:
  Sizes sizes_;
  TransformerNet net_;
  Optimizer optimizer_;
};

}  // namespace

std::unique_ptr<Workload> make_transformer(Scale scale) {
  return std::make_unique<Transformer>(sizes_of(scale));
}

}  // namespace fathom::models
