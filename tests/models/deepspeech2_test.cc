#include <ATen/TensorOperators.h>
#include <ATen/ops/ctc_loss.h>
#include <ATen/ops/log_softmax.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "fixtures/machine/device.h"
#include "fixtures/speech/spectrograms.h"
#include "models/table.h"

namespace fathom::models {
namespace {

using fixtures::Batch;

class DeepSpeech2 : public testing::Test {
 protected:
  DeepSpeech2() {
    fixtures::set_threads(1);
    at::manual_seed(1);
  }
};

TEST_F(DeepSpeech2, CountsTheFramesThatItsConvolutionsLeave) {
  for (const auto& [scale, counted] :
       {std::pair{Scale::kFull, std::vector<std::pair<int64_t, int64_t>>{{1300, 635}, {1201, 586}}},
        std::pair{Scale::kSmall,
                  std::vector<std::pair<int64_t, int64_t>>{{60, 26}, {57, 25}, {56, 24}}}}) {
    const auto net = workload("deepspeech2").make(scale);
    EXPECT_EQ(net->output_shape(3), (std::vector<int64_t>{3, counted[0].second, 29}));
    for (const auto& batch : net->batches({.batch = 8, .count = 2, .seed = 1}).batches) {
      const at::Tensor& labels = batch[4];
      const at::Tensor& frames = batch[5];
      const at::Tensor& counts = batch[6];
      for (const at::Tensor& part : {labels, frames, counts})
        EXPECT_EQ(part.scalar_type(), at::kInt);
      EXPECT_EQ(labels.numel(), batch[fixtures::kLetterCounts].sum().item<int64_t>());
      EXPECT_TRUE(counts.equal(batch[fixtures::kLetterCounts].to(at::kInt)));
      for (int64_t n = 0; n < 8; ++n) {
        const auto before = batch[fixtures::kSpectrogramFrames][n].item<int64_t>();
        const auto after = frames[n].item<int64_t>();
        EXPECT_LE(after, counted[0].second);
        for (const auto& [length, left] : counted) {
          if (before == length) {
            EXPECT_EQ(after, left);
          }
        }
      }
    }
  }
}

/// The loss of each utterance alone, by LibTorch's own count of frames and its targets.
TEST_F(DeepSpeech2, AveragesTheLossesOfItsUtterances) {
  const auto net = workload("deepspeech2").make(Scale::kSmall);
  const Batch batch = net->batches({.batch = 4, .seed = 2}).batches[0];
  const c10::NoGradGuard no_grad;
  const double loss = net->loss(batch).item<double>();
  const at::Tensor scores = at::log_softmax(net->infer(batch), -1);  // also of training
  double sum = 0;
  for (int64_t n = 0; n < 4; ++n) {
    const auto frames = batch[5][n].item<int64_t>();
    const auto count = batch[fixtures::kLetterCounts][n].item<int64_t>();
    const at::Tensor labels = batch[fixtures::kLetters][n].narrow(0, 0, count).unsqueeze(0);
    sum += at::ctc_loss(scores[n].narrow(0, 0, frames).unsqueeze(1), labels,
                        std::vector<int64_t>{frames}, std::vector<int64_t>{count}, 0,
                        at::Reduction::Sum)
               .item<double>();
  }
  EXPECT_NEAR(loss, sum / 4, 1e-4 * loss);
}

TEST_F(DeepSpeech2, StartsFromPyTorchsWeights) {
  const auto net = workload("deepspeech2").make(Scale::kFull);
  const auto parameters = net->module().named_parameters();
  const auto bound = [&](const std::string& name) {
    return parameters[name].abs().max().item<double>();
  };
  for (const char* weight : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"}) {
    for (const char* direction : {"", "_reverse"}) {
      EXPECT_NEAR(bound(std::string("gru3.") + weight + direction), 1 / std::sqrt(800), 1e-4);
    }
  }
  EXPECT_NEAR(bound("conv1.weight"), 1 / std::sqrt(41 * 11), 1e-3);
  EXPECT_NEAR(bound("fc.weight"), 1 / std::sqrt(800), 1e-4);
  EXPECT_EQ(parameters["gru1.weight_ih"].sizes(), (std::vector<int64_t>{2400, 672}));
  EXPECT_EQ(parameters["gru5.weight_ih"].sizes(), (std::vector<int64_t>{2400, 800}));
}

/// Both directions of a recurrent layer: a change in the middle reaches all frames.
TEST_F(DeepSpeech2, HearsWhatComesBeforeAndAfter) {
  const auto net = workload("deepspeech2").make(Scale::kSmall);
  net->module().eval();
  Batch batch = net->batches({.batch = 1, .seed = 2}).batches[0];
  const c10::NoGradGuard no_grad;
  const at::Tensor before = net->infer(batch);
  batch[fixtures::kSpectrograms].narrow(3, 30, 1).add_(1);
  const at::Tensor change = (net->infer(batch) - before).abs().sum(2)[0];
  EXPECT_GT(change[0].item<double>(), 0);
  EXPECT_GT(change[25].item<double>(), 0);
}

TEST_F(DeepSpeech2, OverfitsOneBatch) {
  const auto net = workload("deepspeech2").make(Scale::kSmall);
  const Batch batch = net->batches({.batch = 4, .seed = 1}).batches[0];
  double first = 0;
  double last = 0;
  for (int step = 0; step < 250; ++step) {
    const at::Tensor loss = net->loss(batch);
    last = loss.item<double>();
    if (step == 0) first = last;
    loss.backward();
    net->update();
  }
  EXPECT_LT(last, first / 10);
}

}  // namespace
}  // namespace fathom::models
