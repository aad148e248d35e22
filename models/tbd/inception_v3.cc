// inception_v3: Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, "Rethinking the Inception Architecture
// for Computer Vision", 2016, with the auxiliary classifier in training, as in torchvision.
#include <ATen/ops/cat.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include <array>
#include <utility>
#include <vector>

#include "models/image_workload.h"
#include "models/layers.h"
#include "models/optimizers.h"
#include "models/table.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;

struct Sizes {
  fixtures::ImageShape image;
  int64_t divisor;           ///< divides all channels, for small networks in tests
  int64_t auxiliary_kernel;  ///< side of the auxiliary classifier's images
};

constexpr Sizes kInceptionV3{{.side = 299, .classes = 1000}, 1, 5};
constexpr Sizes kSmall{{.side = 107, .classes = 10}, 16, 1};

constexpr double kEpsilon = 1e-3;         ///< of batch normalisation
constexpr double kAuxiliaryWeight = 0.4;  ///< of the auxiliary loss

/// Layers one after another, [N, channels, H, W]. Knows the channels of its end.
class Chain {
 public:
  Chain(int64_t channels, int64_t divisor) : channels_(channels), divisor_(divisor) {}

  /// An empty chain that begins where this one ends.
  Chain next() const { return {channels_, divisor_}; }
  int64_t channels() const { return channels_; }
  const nn::Sequential& layers() const { return layers_; }

  /// A convolution that keeps the image's size.
  Chain& same(int64_t out, int64_t height, int64_t width) {
    return convolution(out, {height, width}, 1, {height / 2, width / 2});
  }
  Chain& same(int64_t out, int64_t kernel) { return same(out, kernel, kernel); }
  /// A convolution without padding.
  Chain& valid(int64_t out, int64_t kernel, int64_t stride = 1) {
    return convolution(out, kernel, stride, 0);
  }
  Chain& max_pool() { return push(nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2)), channels_); }
  /// The mean of 3 x 3 pixels, including the padding. Keeps the image's size.
  Chain& mean() {
    return push(nn::AvgPool2d(nn::AvgPool2dOptions(3).stride(1).padding(1)), channels_);
  }
  /// Chains that all begin here. Their outputs are concatenated.
  Chain& branches(const std::vector<Chain>& chains);

  template <class Layer>
  Chain& push(const Layer& layer, int64_t channels) {
    layers_->push_back(layer);
    channels_ = channels;
    return *this;
  }

 private:
  Chain& convolution(int64_t out, torch::ExpandingArray<2> kernel, int64_t stride,
                     torch::ExpandingArray<2> padding) {
    out /= divisor_;
    const auto options = nn::Conv2dOptions(channels_, out, kernel).stride(stride).padding(padding);
    return push(ConvNorm(options, /*relu=*/true, kEpsilon), out);
  }

  int64_t channels_;
  int64_t divisor_;
  nn::Sequential layers_;
};

/// Concatenates the channels of the outputs of several chains.
class BranchesImpl : public nn::Cloneable<BranchesImpl> {
 public:
  explicit BranchesImpl(std::vector<nn::Sequential> branches) : branches_(std::move(branches)) {
    BranchesImpl::reset();
  }
  void reset() override {
    for (std::size_t i = 0; i < branches_.size(); ++i) {
      register_module("path" + std::to_string(i + 1), branches_[i]);
    }
  }
  at::Tensor forward(const at::Tensor& x) {
    std::vector<at::Tensor> outputs;
    for (auto& branch : branches_) outputs.push_back(branch->forward(x));
    return at::cat(outputs, 1);
  }

 private:
  std::vector<nn::Sequential> branches_;
};
TORCH_MODULE(Branches);

Chain& Chain::branches(const std::vector<Chain>& chains) {
  std::vector<nn::Sequential> layers;
  int64_t channels = 0;
  for (const auto& chain : chains) {
    layers.push_back(chain.layers());
    channels += chain.channels();
  }
  return push(Branches(std::move(layers)), channels);
}

// The blocks of torchvision's InceptionA to InceptionE, on images of 35 to 8 pixels a side.

void push_a(Chain& net, int64_t pooled) {
  net.branches({net.next().same(64, 1), net.next().same(48, 1).same(64, 5),
                net.next().same(64, 1).same(96, 3).same(96, 3), net.next().mean().same(pooled, 1)});
}

void push_b(Chain& net) {
  net.branches({net.next().valid(384, 3, 2), net.next().same(64, 1).same(96, 3).valid(96, 3, 2),
                net.next().max_pool()});
}

void push_c(Chain& net, int64_t width) {
  net.branches({net.next().same(192, 1),
                net.next().same(width, 1).same(width, 1, 7).same(192, 7, 1),
                net.next()
                    .same(width, 1)
                    .same(width, 7, 1)
                    .same(width, 1, 7)
                    .same(width, 7, 1)
                    .same(192, 1, 7),
                net.next().mean().same(192, 1)});
}

void push_d(Chain& net) {
  net.branches({net.next().same(192, 1).valid(320, 3, 2),
                net.next().same(192, 1).same(192, 1, 7).same(192, 7, 1).valid(192, 3, 2),
                net.next().max_pool()});
}

void push_e(Chain& net) {
  const auto split = [](Chain chain) {
    return chain.branches({chain.next().same(384, 1, 3), chain.next().same(384, 3, 1)});
  };
  net.branches({net.next().same(320, 1), split(net.next().same(384, 1)),
                split(net.next().same(448, 1).same(384, 3)), net.next().mean().same(192, 1)});
}

class InceptionImpl : public nn::Cloneable<InceptionImpl> {
 public:
  explicit InceptionImpl(const Sizes& sizes) : sizes_(sizes) { InceptionImpl::reset(); }

  void reset() override {
    Chain body(3, sizes_.divisor);
    body.valid(32, 3, 2).valid(32, 3).same(64, 3).max_pool();
    body.same(80, 1).valid(192, 3).max_pool();
    for (const int64_t pooled : {32, 64, 64}) push_a(body, pooled);
    push_b(body);
    for (const int64_t width : {128, 160, 160, 192}) push_c(body, width);
    body_ = register_module("body", body.layers());

    Chain auxiliary = body.next();
    auxiliary.push(nn::AvgPool2d(nn::AvgPool2dOptions(5).stride(3)), auxiliary.channels());
    auxiliary.same(128, 1).valid(768, sizes_.auxiliary_kernel);
    const nn::Linear auxiliary_fc(auxiliary.channels(), sizes_.image.classes);
    auxiliary.push(nn::Flatten(), auxiliary.channels()).push(auxiliary_fc, sizes_.image.classes);
    auxiliary_ = register_module("auxiliary", auxiliary.layers());

    Chain top = body.next();
    push_d(top);
    push_e(top);
    push_e(top);
    top.push(nn::AdaptiveAvgPool2d(1), top.channels()).push(nn::Dropout(0.5), top.channels());
    const nn::Linear fc(top.channels(), sizes_.image.classes);
    top.push(nn::Flatten(), top.channels()).push(fc, sizes_.image.classes);
    top_ = register_module("top", top.layers());

    const torch::NoGradGuard no_grad;
    for (const auto& parameter : parameters()) {
      if (parameter.dim() > 1) parameter.normal_(0, 0.1);  // filters and dense layers
    }
    auxiliary_fc->weight.normal_(0, 0.001);
  }

  /// Images [N, 3, S, S] to logits [N, classes].
  at::Tensor forward(const at::Tensor& images) { return top_->forward(body_->forward(images)); }

  struct Logits {
    at::Tensor main;
    at::Tensor auxiliary;
  };
  /// Both classifiers' logits [N, classes]. Throws c10::Error for one image: the auxiliary
  /// classifier normalises one value a channel of each.
  Logits classify(const at::Tensor& images) {
    TORCH_CHECK(images.size(0) > 1, "a training step of inception_v3 needs a batch of 2 or more");
    const at::Tensor features = body_->forward(images);
    return {.main = top_->forward(features), .auxiliary = auxiliary_->forward(features)};
  }

 private:
  Sizes sizes_;
  nn::Sequential body_{nullptr};
  nn::Sequential auxiliary_{nullptr};
  nn::Sequential top_{nullptr};
};
TORCH_MODULE(Inception);

class InceptionWorkload final : public ImageWorkload {
 public:
  InceptionWorkload(const Sizes& sizes, Optimizer optimizer)
      : ImageWorkload(sizes.image, std::move(optimizer)), net_(sizes) {}

  at::Tensor loss(const fixtures::Batch& batch) override {
    namespace functional = nn::functional;
    const auto logits = net_->classify(batch[fixtures::kImages]);
    const at::Tensor& labels = batch[fixtures::kLabels];
    return functional::cross_entropy(logits.main, labels) +
           kAuxiliaryWeight * functional::cross_entropy(logits.auxiliary, labels);
  }
  nn::Module& module() override { return *net_; }

 private:
  at::Tensor logits(const at::Tensor& images) override { return net_->forward(images); }

  Inception net_;
};

}  // namespace

std::unique_ptr<Workload> make_inception_v3(Scale scale) {
  const Sizes sizes = scale == Scale::kFull ? kInceptionV3 : kSmall;
  constexpr double kRate = 0.1 * 32 / 256;  // 0.1 is for a batch of 256 images
  return std::make_unique<InceptionWorkload>(sizes, momentum(kRate, 0.9, 1e-4));
}

}  // namespace fathom::models
