// wgan: Gulrajani, Ahmed, Arjovsky, Dumoulin and Courville, "Improved Training of Wasserstein
// GANs", 2017: the residual generator and critic for 64 x 64 pixels, with gradient penalty. A
// training step updates the generator once and then the critic five times.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/pooling.h>
#include <torch/nn/modules/upsampling.h>

#include <cmath>
#include <utility>
#include <vector>

#include "fixtures/images/small_images.h"
#include "models/layers.h"
#include "models/optimizers.h"
#include "models/table.h"
#include "models/workload.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;

struct Sizes {
  int64_t noise;                ///< inputs of the generator
  std::vector<int64_t> widths;  ///< channels from 4 x 4 pixels on; each next one has twice the side

  int64_t side() const { return int64_t{4} << (widths.size() - 1); }
};

Sizes sizes_of(Scale scale) {
  return scale == Scale::kFull ? Sizes{128, {512, 512, 256, 128, 64}} : Sizes{8, {8, 8, 4}};
}

constexpr int kCriticUpdates = 5;
constexpr double kPenaltyWeight = 10;
constexpr double kRate = 1e-4;
constexpr double kBeta1 = 0;
constexpr double kBeta2 = 0.9;

nn::Conv2d generator_convolution(int64_t in, int64_t out, int64_t kernel, bool bias = true) {
  return nn::Conv2d(convolution(in, out, kernel).bias(bias));
}

/// The gradient penalty differentiates the critic's gradients.
TwiceDifferentiableConv2d critic_convolution(int64_t in, int64_t out, int64_t kernel,
                                             bool bias = true) {
  return TwiceDifferentiableConv2d(convolution(in, out, kernel).bias(bias));
}

nn::Upsample doubled() {
  return nn::Upsample(
      nn::UpsampleOptions().scale_factor(std::vector<double>{2, 2}).mode(torch::kNearest));
}

/// Always normalises with the statistics of the batch.
nn::BatchNorm2d batch_norm(int64_t channels) {
  return nn::BatchNorm2d(nn::BatchNorm2dOptions(channels).track_running_stats(false));
}

/// Layer normalisation over [C, H, W] with a scale and a shift for each channel.
nn::GroupNorm layer_norm(int64_t channels) { return nn::GroupNorm(1, channels); }

/// The sum of two paths.
class ResidualImpl : public nn::Cloneable<ResidualImpl> {
 public:
  ResidualImpl(nn::Sequential path, nn::Sequential shortcut)
      : path_(std::move(path)), shortcut_(std::move(shortcut)) {
    ResidualImpl::reset();
  }
  void reset() override {
    register_module("path", path_);
    register_module("shortcut", shortcut_);
  }
  at::Tensor forward(const at::Tensor& x) { return path_->forward(x) + shortcut_->forward(x); }

 private:
  nn::Sequential path_;
  nn::Sequential shortcut_;
};
TORCH_MODULE(Residual);

/// [N, in, S, S] to [N, out, 2 S, 2 S].
Residual up_block(int64_t in, int64_t out) {
  const nn::Sequential path(batch_norm(in), nn::ReLU(), doubled(),
                            generator_convolution(in, out, 3, false), batch_norm(out), nn::ReLU(),
                            generator_convolution(out, out, 3));
  return Residual(path, nn::Sequential(doubled(), generator_convolution(in, out, 1)));
}

/// [N, in, S, S] to [N, out, S / 2, S / 2].
Residual down_block(int64_t in, int64_t out) {
  const nn::Sequential path(layer_norm(in), nn::ReLU(), critic_convolution(in, in, 3, false),
                            layer_norm(in), nn::ReLU(), critic_convolution(in, out, 3),
                            nn::AvgPool2d(2));
  return Residual(path, nn::Sequential(nn::AvgPool2d(2), critic_convolution(in, out, 1)));
}

/// Glorot's uniform distribution, sqrt(2) wider for convolutions after a ReLU; biases are 0.
void initialise(nn::Module& net) {
  const torch::NoGradGuard no_grad;
  for (const auto& module : net.modules(/*include_self=*/false)) {
    if (auto* conv = module->as<nn::Conv2dImpl>()) {
      const bool after_relu = conv->weight.size(-1) == 3 && conv->weight.size(1) != 3;
      nn::init::xavier_uniform_(conv->weight, after_relu ? std::sqrt(2) : 1);
      if (conv->bias.defined()) conv->bias.zero_();
    } else if (auto* dense = module->as<nn::LinearImpl>()) {
      nn::init::xavier_uniform_(dense->weight);
      dense->bias.zero_();
    }
  }
}

/// Noise [N, noise] to images [N, 3, S, S] in [-1, 1].
nn::Sequential generator_net(const Sizes& sizes) {
  const auto& widths = sizes.widths;
  nn::Sequential layers(nn::Linear(sizes.noise, widths[0] * 4 * 4),
                        nn::Unflatten(nn::UnflattenOptions(1, {widths[0], 4, 4})));
  for (std::size_t i = 1; i < widths.size(); ++i) {
    layers->push_back(up_block(widths[i - 1], widths[i]));
  }
  layers->push_back(batch_norm(widths.back()));
  layers->push_back(nn::ReLU());
  layers->push_back(generator_convolution(widths.back(), 3, 3));
  layers->push_back(nn::Tanh());
  initialise(*layers);
  return layers;
}

/// Images [N, 3, S, S] to values [N, 1].
nn::Sequential critic_net(const Sizes& sizes) {
  const auto& widths = sizes.widths;
  nn::Sequential layers(critic_convolution(3, widths.back(), 3));
  for (std::size_t i = widths.size() - 1; i > 0; --i) {
    layers->push_back(down_block(widths[i], widths[i - 1]));
  }
  layers->push_back(nn::Flatten());
  layers->push_back(nn::Linear(widths[0] * 4 * 4, 1));
  initialise(*layers);
  return layers;
}

struct NetworksImpl : nn::Module {
  explicit NetworksImpl(const Sizes& sizes)
      : generator(register_module("generator", generator_net(sizes))),
        critic(register_module("critic", critic_net(sizes))) {}

  nn::Sequential generator;
  nn::Sequential critic;
};
TORCH_MODULE(Networks);

/// Positions in a batch.
enum Field : std::size_t { kNoise, kReal, kMixing };

/// A training step has six rounds of loss(), backward and update(): the generator's, then the
/// critic's five.
class Wgan final : public Workload {
 public:
  explicit Wgan(Sizes sizes) : sizes_(std::move(sizes)), nets_(sizes_) {}

  /// For N samples {noise [N, noise]}; for training {noise [6 N, noise], images [5 N, 3, S, S] in
  /// [-1, 1], shares of the made-up images in the penalty's [5 N, 1, 1, 1]}.
  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override;
  std::vector<int64_t> output_shape(int64_t batch) const override {
    return {batch, 3, sizes_.side(), sizes_.side()};
  }

  at::Tensor infer(const fixtures::Batch& batch) override {
    return nets_->generator->forward(batch[kNoise]);
  }
  at::Tensor loss(const fixtures::Batch& batch) override;
  void update() override;
  int updates_per_step() const override { return 1 + kCriticUpdates; }

  nn::Module& module() override { return *nets_; }
  std::vector<at::Tensor> optimizer_state() const override;

 private:
  at::Tensor critic_loss(const at::Tensor& real, const at::Tensor& made_up,
                         const at::Tensor& share);

  Sizes sizes_;
  Networks nets_;
  int round_ = 0;  ///< 0: the generator's
  Optimizer generator_optimizer_ = adam(kRate, kBeta1, kBeta2);
  Optimizer critic_optimizer_ = adam(kRate, kBeta1, kBeta2);
};

fixtures::BatchSet Wgan::batches(const fixtures::BatchRequest& request) const {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(request.seed);
  const int64_t rounds = request.training ? updates_per_step() : 1;
  fixtures::BatchSet set;
  if (request.training) {
    fixtures::BatchRequest images = request;
    images.batch *= kCriticUpdates;
    set = fixtures::small_images(sizes_.side(), images);
  } else {
    set.batches.resize(static_cast<std::size_t>(request.count));
  }
  for (auto& batch : set.batches) {
    batch.insert(batch.begin(),
                 at::empty({rounds * request.batch, sizes_.noise}).normal_(0, 1, generator));
    if (!request.training) continue;
    batch.push_back(at::empty({kCriticUpdates * request.batch, 1, 1, 1}).uniform_(0, 1, generator));
  }
  return set;
}

at::Tensor Wgan::loss(const fixtures::Batch& batch) {
  const auto part = [](const at::Tensor& all, int parts, int i) {
    return all.narrow(0, i * (all.size(0) / parts), all.size(0) / parts);
  };
  const at::Tensor noise = part(batch[kNoise], updates_per_step(), round_);
  if (round_ == 0) {
    // The generator's update drops the gradients of the critic, so none are computed.
    for (auto& parameter : nets_->critic->parameters()) parameter.requires_grad_(false);
    return nets_->critic->forward(nets_->generator->forward(noise)).mean().neg();
  }
  at::Tensor made_up;
  {
    const torch::NoGradGuard no_grad;
    made_up = nets_->generator->forward(noise);
  }
  return critic_loss(part(batch[kReal], kCriticUpdates, round_ - 1), made_up,
                     part(batch[kMixing], kCriticUpdates, round_ - 1));
}

/// Equation 3 of the paper. The forward phase of a step contains the backward pass for the
/// penalty's gradient.
at::Tensor Wgan::critic_loss(const at::Tensor& real, const at::Tensor& made_up,
                             const at::Tensor& share) {
  const at::Tensor between = (real + share * (made_up - real)).requires_grad_();
  const at::Tensor values = nets_->critic->forward(between);
  const at::Tensor gradient =
      torch::autograd::grad({values.sum()}, {between}, /*grad_outputs=*/{}, /*retain_graph=*/true,
                            /*create_graph=*/true)[0];
  const at::Tensor norms = gradient.flatten(1).norm(2, 1);
  const at::Tensor penalty = kPenaltyWeight * (norms - 1).square().mean();
  return nets_->critic->forward(made_up).mean() - nets_->critic->forward(real).mean() + penalty;
}

void Wgan::update() {
  if (round_ == 0) {
    generator_optimizer_.step(*nets_->generator);
    for (auto& parameter : nets_->critic->parameters()) parameter.requires_grad_(true);
  } else {
    critic_optimizer_.step(*nets_->critic);
  }
  round_ = (round_ + 1) % updates_per_step();
}

std::vector<at::Tensor> Wgan::optimizer_state() const {
  std::vector<at::Tensor> state = generator_optimizer_.state();
  for (auto& tensor : critic_optimizer_.state()) state.push_back(std::move(tensor));
  return state;
}

}  // namespace

std::unique_ptr<Workload> make_wgan(Scale scale) { return std::make_unique<Wgan>(sizes_of(scale)); }

}  // namespace fathom::models
