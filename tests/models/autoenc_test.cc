#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fixtures/machine/device.h"
#include "models/table.h"
#include "tests/models/parameters.h"

namespace fathom::models {
namespace {

constexpr int64_t kPixels = 784;
constexpr uint64_t kNoiseSeed = 9;

/// weight [out, in] · x + bias in plain loops.
std::vector<double> dense(const torch::OrderedDict<std::string, at::Tensor>& parameters,
                          const std::string& layer, const std::vector<double>& x) {
  const at::Tensor& weight = parameters[layer + ".weight"];
  const auto* w = weight.const_data_ptr<double>();
  const auto* b = parameters[layer + ".bias"].const_data_ptr<double>();
  std::vector<double> y(static_cast<std::size_t>(weight.size(0)));
  for (std::size_t o = 0; o < y.size(); ++o) {
    y[o] = b[o];
    for (std::size_t i = 0; i < x.size(); ++i) y[o] += w[o * x.size() + i] * x[i];
  }
  return y;
}

std::vector<double> tanh(std::vector<double> x) {
  for (double& value : x) value = std::tanh(value);
  return x;
}

/// The loss of the released code: the sum of the squared errors and the mean divergence of the
/// images. If `kingma`: the mean of both (Kingma and Welling, equation 10 with one sample).
double reference(torch::nn::Module& net, const at::Tensor& images, bool kingma) {
  const auto parameters = net.named_parameters();
  const auto count = images.size(0);
  at::manual_seed(kNoiseSeed);
  const auto latent = parameters["mean.weight"].size(0);
  const at::Tensor noise = at::randn({count, latent}, at::kDouble);
  double error = 0;
  double divergence = 0;
  for (int64_t n = 0; n < count; ++n) {
    const auto* pixels = images.const_data_ptr<double>() + n * kPixels;
    const std::vector<double> x(pixels, pixels + kPixels);
    const auto code = kingma ? tanh(dense(parameters, "encoder.hidden", x)) : x;
    const auto mean = dense(parameters, "mean", code);
    const auto log_variance = dense(parameters, "log_variance", code);
    std::vector<double> z;
    for (std::size_t k = 0; k < mean.size(); ++k) {
      const double e = noise.const_data_ptr<double>()[static_cast<std::size_t>(n * latent) + k];
      z.push_back(mean[k] + std::exp(log_variance[k] / 2) * e);
      divergence += (mean[k] * mean[k] + std::exp(log_variance[k]) - 1 - log_variance[k]) / 2;
    }
    const auto decoded = dense(parameters, "decoder.pixels",
                               kingma ? tanh(dense(parameters, "decoder.hidden", z)) : z);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double p = 1 / (1 + std::exp(-decoded[i]));
      error += kingma ? -x[i] * std::log(p) - (1 - x[i]) * std::log(1 - p)
                      : (decoded[i] - x[i]) * (decoded[i] - x[i]) / 2;
    }
  }
  const auto images_count = static_cast<double>(count);
  return (kingma ? error / images_count : error) + divergence / images_count;
}

class Autoenc : public testing::TestWithParam<const char*> {
 protected:
  Autoenc() {
    fixtures::set_threads(1);
    at::manual_seed(1);
  }
  static bool kingma() { return std::string(GetParam()) == "autoenc_kingma"; }
};

INSTANTIATE_TEST_SUITE_P(Rows, Autoenc, testing::Values("autoenc", "autoenc_kingma"),
                         [](const auto& row) { return row.param; });

TEST_P(Autoenc, AgreesWithPlainLoopsInFloat64) {
  const auto net = workload(GetParam()).make(Scale::kSmall);
  fixtures::Batch batch = net->batches({.batch = 3, .seed = 2}).batches[0];
  batch[0] = batch[0].to(at::kDouble);
  net->module().to(at::kDouble);
  tests::expect_gradients(
      tests::parameters(*net),
      [&] {
        at::manual_seed(kNoiseSeed);
        return net->loss(batch);
      },
      [&] { return reference(net->module(), batch[0], kingma()); }, 30);
}

/// Ranks add up the gradients of a summed loss. With weights of 0, no noise reaches the loss.
TEST_P(Autoenc, SumsItsLossOverTheBatchIfItsRowSaysSo) {
  const auto net = workload(GetParam()).make(Scale::kSmall);
  const c10::NoGradGuard no_grad;
  for (const auto& parameter : net->module().parameters()) parameter.zero_();
  const at::Tensor images = net->batches({.batch = 3}).batches[0][0];
  const double once = net->loss({images}).item<double>();
  const double twice = net->loss({images.repeat({2, 1})}).item<double>();
  EXPECT_NEAR(twice, (workload(GetParam()).sums_loss ? 2 : 1) * once, 1e-4 * once);
}

TEST_P(Autoenc, SamplesInInferenceToo) {
  const auto net = workload(GetParam()).make(Scale::kSmall);
  net->module().eval();
  const auto batch = net->batches({.batch = 3}).batches[0];
  EXPECT_FALSE(net->infer(batch).equal(net->infer(batch)));
}

TEST(AutoencTraining, HalvesTheLoss) {
  fixtures::set_threads(1);
  at::manual_seed(1);
  const auto net = workload("autoenc").make(Scale::kFull);
  const auto batches = net->batches({.batch = 128, .count = 10}).batches;
  const auto epoch = [&] {
    double sum = 0;
    for (const auto& batch : batches) {
      const at::Tensor loss = net->loss(batch);
      sum += loss.item<double>();
      loss.backward();
      net->update();
    }
    return sum;
  };
  const double first = epoch();
  for (int i = 0; i < 20; ++i) epoch();
  EXPECT_LT(epoch(), first / 2);
}

TEST(Adagrad, KeepsOneBufferAParameter) {
  const auto net = workload("autoenc_kingma").make(Scale::kSmall);
  EXPECT_TRUE(net->optimizer_state().empty());
  net->loss(net->batches({.batch = 2}).batches[0]).backward();
  net->update();
  EXPECT_EQ(net->optimizer_state().size(), net->module().parameters().size());
}

}  // namespace
}  // namespace fathom::models
