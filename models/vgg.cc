// VGG-19: Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
// Recognition", 2014, configuration E, with the training of its section 3.1.
#include <torch/nn/functional/loss.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>
#include <torch/optim/sgd.h>

#include "fixtures/images.h"
#include "models/optimizer_state.h"
#include "models/table.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;

struct Block {
  int convolutions;
  int64_t channels;
};

struct Sizes {
  fixtures::ImageShape image;
  std::array<Block, 5> blocks;
  int64_t hidden;  ///< width of fc6 and fc7
};

constexpr Sizes kFull{
    {.side = 224, .classes = 1000}, {{{2, 64}, {2, 128}, {4, 256}, {4, 512}, {4, 512}}}, 4096};
constexpr Sizes kSmall{
    {.side = 32, .classes = 10}, {{{2, 8}, {2, 16}, {4, 16}, {4, 32}, {4, 32}}}, 64};

class Vgg final : public nn::Module {
 public:
  explicit Vgg(const Sizes& sizes) {
    int64_t channels = 3;
    int64_t side = sizes.image.side;
    for (std::size_t b = 0; b < sizes.blocks.size(); ++b) {
      const auto& [convolutions, width] = sizes.blocks[b];
      const std::string block = std::to_string(b + 1);
      for (int c = 1; c <= convolutions; ++c) {
        const std::string layer = block + '_' + std::to_string(c);
        features_->push_back("conv" + layer,
                             nn::Conv2d(nn::Conv2dOptions(channels, width, 3).padding(1)));
        features_->push_back("relu" + layer, nn::ReLU());
        channels = width;
      }
      features_->push_back("pool" + block, nn::MaxPool2d(nn::MaxPool2dOptions(2).stride(2)));
      side /= 2;
    }
    classifier_->push_back("flatten", nn::Flatten());
    classifier_->push_back("fc6", nn::Linear(channels * side * side, sizes.hidden));
    classifier_->push_back("relu6", nn::ReLU());
    classifier_->push_back("drop6", nn::Dropout(0.5));
    classifier_->push_back("fc7", nn::Linear(sizes.hidden, sizes.hidden));
    classifier_->push_back("relu7", nn::ReLU());
    classifier_->push_back("drop7", nn::Dropout(0.5));
    classifier_->push_back("fc8", nn::Linear(sizes.hidden, sizes.image.classes));
    initialise();
  }

  /// Images [N, 3, S, S] to logits [N, classes].
  at::Tensor forward(const at::Tensor& images) {
    return classifier_->forward(features_->forward(images));
  }

 private:
  /// He's normal for convolutions and a deviation of 0.01 for dense layers: the paper seeds deep
  /// nets from shallow ones.
  void initialise() {
    const torch::NoGradGuard no_grad;
    for (const auto& module : modules(/*include_self=*/false)) {
      if (auto* conv = module->as<nn::Conv2dImpl>()) {
        nn::init::kaiming_normal_(conv->weight, /*a=*/0, torch::kFanOut, torch::kReLU);
        conv->bias.zero_();
      } else if (auto* dense = module->as<nn::LinearImpl>()) {
        dense->weight.normal_(0, 0.01);
        dense->bias.zero_();
      }
    }
  }

  nn::Sequential features_ = register_module("features", nn::Sequential());
  nn::Sequential classifier_ = register_module("classifier", nn::Sequential());
};

class VggWorkload final : public Workload {
 public:
  explicit VggWorkload(const Sizes& sizes)
      : sizes_(sizes),
        net_(sizes),
        sgd_(net_.parameters(), torch::optim::SGDOptions(0.01).momentum(0.9).weight_decay(5e-4)) {}

  std::vector<fixtures::Batch> batches(int64_t batch, int count, uint64_t seed) const override {
    return fixtures::synthetic_images(sizes_.image, batch, count, seed);
  }
  std::vector<int64_t> output_shape(int64_t batch) const override {
    return {batch, sizes_.image.classes};
  }

  at::Tensor infer(const fixtures::Batch& batch) override {
    return net_.forward(batch[fixtures::kImages]);
  }
  at::Tensor loss(const fixtures::Batch& batch) override {
    return nn::functional::cross_entropy(net_.forward(batch[fixtures::kImages]),
                                         batch[fixtures::kLabels]);
  }
  void update() override {
    sgd_.step();
    sgd_.zero_grad();
  }

  nn::Module& module() override { return net_; }
  std::vector<at::Tensor> optimizer_state() const override { return momentum_buffers(sgd_); }

 private:
  Sizes sizes_;
  Vgg net_;
  torch::optim::SGD sgd_;
};

}  // namespace

std::unique_ptr<Workload> make_vgg(Scale scale) {
  return std::make_unique<VggWorkload>(scale == Scale::kFull ? kFull : kSmall);
}

}  // namespace fathom::models
