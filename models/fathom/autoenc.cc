// autoenc: the variational auto-encoder of Fathom's released code: linear maps without hidden
// layers, Gaussian pixels, sampling also in inference. The release initialises the decoder with
// zeros; here it starts like the encoder, because training does not multiply by zeros.
// autoenc_kingma: Kingma and Welling, "Auto-Encoding Variational Bayes", 2013, appendix C: one
// hidden layer of 500 tanh units on both sides, 20 latent variables, Bernoulli pixels, Adagrad.
#include <ATen/OpMathType.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/sigmoid.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include "fixtures/images/mnist.h"
#include "models/optimizers.h"
#include "models/table.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;

struct Sizes {
  int64_t hidden;  ///< units of the hidden layers; 0 for no hidden layers
  int64_t latent;
  fixtures::PixelScale pixels;
  Optimizer (*optimizer)();
};

constexpr int64_t kPixels = 784;
constexpr Sizes kAutoenc{0, 200, fixtures::PixelScale::kStandardised, [] { return adam(1e-3); }};
// The weight decay is the prior N(0, I) of the parameters; the loss is a mean over 60,000 images.
constexpr Sizes kKingma{500, 20, fixtures::PixelScale::kUnit,
                        [] { return adagrad(0.01, 1.0 / 60'000); }};

Sizes shrunk(Sizes sizes) {
  sizes.hidden /= 10;
  sizes.latent /= 5;
  return sizes;
}

/// The distribution of the latent code, and the pixels decoded from a sample of it.
struct Reconstruction {
  at::Tensor mean;          ///< [N, latent]
  at::Tensor log_variance;  ///< [N, latent]
  at::Tensor pixels;        ///< [N, 784]; logits if the pixels are Bernoulli variables
};

class AutoencoderImpl : public nn::Module {
 public:
  explicit AutoencoderImpl(const Sizes& sizes) {
    const int64_t encoded = sizes.hidden == 0 ? kPixels : sizes.hidden;
    if (sizes.hidden > 0) push_hidden(encoder_, kPixels, sizes.hidden);
    if (sizes.hidden > 0) push_hidden(decoder_, sizes.latent, sizes.hidden);
    mean_ = nn::Linear(encoded, sizes.latent);
    log_variance_ = nn::Linear(encoded, sizes.latent);
    decoder_->push_back("pixels",
                        nn::Linear(sizes.hidden == 0 ? sizes.latent : sizes.hidden, kPixels));
    register_module("encoder", encoder_);
    register_module("mean", mean_);
    register_module("log_variance", log_variance_);
    register_module("decoder", decoder_);
  }

  Reconstruction forward(const at::Tensor& pixels) {
    const at::Tensor code = encoder_->is_empty() ? pixels : encoder_->forward(pixels);
    Reconstruction output{.mean = mean_(code), .log_variance = log_variance_(code), .pixels = {}};
    const at::Tensor deviation = output.log_variance.exp().sqrt();
    // Float also under autocast, so that the noise is the same at every precision.
    const at::Tensor noise = at::randn_like(deviation, at::toOpMathType(deviation.scalar_type()));
    output.pixels = decoder_->forward(output.mean + deviation * noise);
    return output;
  }

 private:
  static void push_hidden(nn::Sequential& layers, int64_t in, int64_t out) {
    layers->push_back("hidden", nn::Linear(in, out));
    layers->push_back("tanh", nn::Tanh());
  }

  nn::Sequential encoder_;
  nn::Linear mean_{nullptr};
  nn::Linear log_variance_{nullptr};
  nn::Sequential decoder_;
};
TORCH_MODULE(Autoencoder);

/// KL divergence of the code from a standard normal distribution, averaged over the batch.
at::Tensor divergence(const Reconstruction& output) {
  const at::Tensor terms =
      1 + output.log_variance - output.mean.square() - output.log_variance.exp();
  return terms.sum(1).mul(-0.5).mean();
}

/// As in Fathom: the squared error is summed over the batch, the divergence is averaged.
at::Tensor gaussian_loss(const Reconstruction& output, const at::Tensor& pixels) {
  return (output.pixels - pixels).square().sum().mul(0.5) + divergence(output);
}

at::Tensor bernoulli_loss(const Reconstruction& output, const at::Tensor& pixels) {
  const at::Tensor error = at::binary_cross_entropy_with_logits(
      output.pixels, pixels, /*weight=*/{}, /*pos_weight=*/{}, at::Reduction::Sum);
  return error / pixels.size(0) + divergence(output);
}

class Autoenc final : public Workload {
 public:
  Autoenc(const Sizes& sizes, Autoencoder net) : sizes_(sizes), net_(std::move(net)) {}

  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    return fixtures::mnist(sizes_.pixels, request);
  }
  std::vector<int64_t> output_shape(int64_t batch) const override { return {batch, kPixels}; }

  at::Tensor infer(const fixtures::Batch& batch) override {
    const at::Tensor pixels = net_->forward(batch[0]).pixels;
    return gaussian() ? pixels : at::sigmoid(pixels);
  }
  at::Tensor loss(const fixtures::Batch& batch) override {
    const Reconstruction output = net_->forward(batch[0]);
    return gaussian() ? gaussian_loss(output, batch[0]) : bernoulli_loss(output, batch[0]);
  }
  void update() override { optimizer_.step(*net_); }

  nn::Module& module() override { return *net_; }
  std::vector<at::Tensor> optimizer_state() const override { return optimizer_.state(); }

 private:
  bool gaussian() const { return sizes_.pixels == fixtures::PixelScale::kStandardised; }

  Sizes sizes_;
  Autoencoder net_;
  Optimizer optimizer_ = sizes_.optimizer();
};

}  // namespace

std::unique_ptr<Workload> make_autoenc(Scale scale) {
  const Sizes sizes = scale == Scale::kFull ? kAutoenc : shrunk(kAutoenc);
  const Autoencoder net(sizes);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : net->parameters()) {
    if (parameter.dim() > 1) {
      nn::init::xavier_uniform_(parameter);
    } else {
      parameter.zero_();
    }
  }
  return std::make_unique<Autoenc>(sizes, net);
}

std::unique_ptr<Workload> make_autoenc_kingma(Scale scale) {
  const Sizes sizes = scale == Scale::kFull ? kKingma : shrunk(kKingma);
  const Autoencoder net(sizes);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : net->parameters()) parameter.normal_(0, 0.01);
  return std::make_unique<Autoenc>(sizes, net);
}

}  // namespace fathom::models
