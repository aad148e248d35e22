// residual: He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", 2015: ResNet-34
// with projection shortcuts (option B) and batch normalisation.
// residual_repo: Fathom's released code: 36 convolutions in bottleneck blocks at 56 x 56 pixels, no
// normalisation, activation before the addition, Adam.
#include <ATen/ops/relu.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include <array>
#include <limits>

#include "models/image_workload.h"
#include "models/layers.h"
#include "models/optimizers.h"
#include "models/table.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;

struct Stage {
  int blocks;
  int64_t channels;
};

struct Sizes {
  fixtures::ImageShape image;
  std::array<Stage, 4> stages;
  int64_t divisor;  ///< divides all channels, for small networks in tests
};

constexpr Sizes kResidual{
    {.side = 224, .classes = 1000}, {{{3, 64}, {4, 128}, {6, 256}, {3, 512}}}, 1};
constexpr Sizes kResidualRepo{{.side = 224, .classes = 1001, .first_label = 1},
                              {{{3, 128}, {3, 256}, {3, 512}, {3, 1024}}},
                              1};

Sizes shrunk(Sizes sizes) {
  sizes.image = {.side = 32, .classes = 10};
  sizes.divisor = 8;
  return sizes;
}

/// Two 3 x 3 convolutions and a shortcut: [N, in, S, S] to [N, out, S / stride, S / stride]. The
/// shortcut has a 1 x 1 convolution where the shape changes.
class BasicBlockImpl : public nn::Cloneable<BasicBlockImpl> {
 public:
  BasicBlockImpl(int64_t in, int64_t out, int64_t stride) : in_(in), out_(out), stride_(stride) {
    BasicBlockImpl::reset();
  }
  void reset() override {
    conv1_ = register_module("conv1", nn::Conv2d(convolution(in_, out_, 3, stride_).bias(false)));
    bn1_ = register_module("bn1", nn::BatchNorm2d(out_));
    conv2_ = register_module("conv2", nn::Conv2d(convolution(out_, out_, 3).bias(false)));
    bn2_ = register_module("bn2", nn::BatchNorm2d(out_));
    if (stride_ == 1) return;
    downsample_ =
        register_module("downsample", nn::Conv2d(convolution(in_, out_, 1, stride_).bias(false)));
    downsample_bn_ = register_module("downsample_bn", nn::BatchNorm2d(out_));
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor inner = at::relu(bn1_(conv1_(x)));
    const at::Tensor shortcut = downsample_.is_empty() ? x : downsample_bn_(downsample_(x));
    return bn2_(conv2_(inner)).add_(shortcut).relu_();
  }

 private:
  int64_t in_;
  int64_t out_;
  int64_t stride_;
  nn::Conv2d conv1_{nullptr};
  nn::Conv2d conv2_{nullptr};
  nn::Conv2d downsample_{nullptr};
  nn::BatchNorm2d bn1_{nullptr};
  nn::BatchNorm2d bn2_{nullptr};
  nn::BatchNorm2d downsample_bn_{nullptr};
};
TORCH_MODULE(BasicBlock);

/// A bottleneck block: 1 x 1 to a quarter of the channels, 3 x 3, 1 x 1 back, each with a ReLU,
/// then the addition of the input. Keeps the shape [N, channels, S, S].
class RepoBlockImpl : public nn::Cloneable<RepoBlockImpl> {
 public:
  explicit RepoBlockImpl(int64_t channels) : channels_(channels) { RepoBlockImpl::reset(); }
  void reset() override {
    const int64_t narrow = channels_ / 4;
    reduce_ = register_module("reduce", nn::Conv2d(convolution(channels_, narrow, 1)));
    middle_ = register_module("middle", nn::Conv2d(convolution(narrow, narrow, 3)));
    expand_ = register_module("expand", nn::Conv2d(convolution(narrow, channels_, 1)));
  }
  at::Tensor forward(const at::Tensor& x) {
    return at::relu(expand_(at::relu(middle_(at::relu(reduce_(x)))))).add(x);
  }

 private:
  int64_t channels_;
  nn::Conv2d reduce_{nullptr};
  nn::Conv2d middle_{nullptr};
  nn::Conv2d expand_{nullptr};
};
TORCH_MODULE(RepoBlock);

std::string numbered(const char* name, std::size_t stage, int block) {
  return std::string(name) + std::to_string(stage + 1) + '_' + std::to_string(block + 1);
}

void push_head(nn::Sequential& layers, int64_t channels, int64_t classes, bool bias) {
  layers->push_back("pool", nn::AdaptiveAvgPool2d(1));
  layers->push_back("flatten", nn::Flatten());
  layers->push_back("fc", nn::Linear(nn::LinearOptions(channels, classes).bias(bias)));
}

nn::Sequential resnet34(const Sizes& sizes) {
  int64_t channels = sizes.stages[0].channels / sizes.divisor;
  nn::Sequential layers;
  layers->push_back("conv1", nn::Conv2d(convolution(3, channels, 7, 2).bias(false)));
  layers->push_back("bn1", nn::BatchNorm2d(channels));
  layers->push_back("relu1", nn::ReLU());
  layers->push_back("pool1", nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  for (std::size_t s = 0; s < sizes.stages.size(); ++s) {
    const int64_t width = sizes.stages[s].channels / sizes.divisor;
    for (int b = 0; b < sizes.stages[s].blocks; ++b) {
      layers->push_back(numbered("block", s, b),
                        BasicBlock(channels, width, s > 0 && b == 0 ? 2 : 1));
      channels = width;
    }
  }
  push_head(layers, channels, sizes.image.classes, /*bias=*/true);
  initialise_he(*layers);
  return layers;
}

nn::Sequential repo_net(const Sizes& sizes) {
  const int64_t stem = 64 / sizes.divisor;
  int64_t channels = sizes.stages[0].channels / sizes.divisor;
  nn::Sequential layers;
  layers->push_back("pad1", SamePad(7, 2));
  layers->push_back("conv1", nn::Conv2d(nn::Conv2dOptions(3, stem, 7).stride(2)));
  layers->push_back("relu1", nn::ReLU());
  layers->push_back("pad2", SamePad(3, 2, -std::numeric_limits<double>::infinity()));
  layers->push_back("pool1", nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2)));
  layers->push_back("widen1", nn::Conv2d(nn::Conv2dOptions(stem, channels, 1)));
  for (std::size_t s = 0; s < sizes.stages.size(); ++s) {
    const int64_t width = sizes.stages[s].channels / sizes.divisor;
    if (s > 0) {
      layers->push_back("widen" + std::to_string(s + 1),
                        nn::Conv2d(convolution(channels, width, 1).bias(false)));
    }
    channels = width;
    for (int b = 0; b < sizes.stages[s].blocks; ++b) {
      layers->push_back(numbered("block", s, b), RepoBlock(channels));
    }
  }
  push_head(layers, channels, sizes.image.classes, /*bias=*/false);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : layers->parameters()) parameter.normal_(0, 0.02);  // as in the release
  return layers;
}

}  // namespace

std::unique_ptr<Workload> make_residual(Scale scale) {
  const Sizes sizes = scale == Scale::kFull ? kResidual : shrunk(kResidual);
  const auto layers = resnet34(sizes);
  return make_image_workload(sizes.image, layers, momentum(0.1, 0.9, 1e-4));
}

std::unique_ptr<Workload> make_residual_repo(Scale scale) {
  const Sizes sizes = scale == Scale::kFull ? kResidualRepo : shrunk(kResidualRepo);
  const auto layers = repo_net(sizes);
  return make_image_workload(sizes.image, layers, adam(0.01));
}

}  // namespace fathom::models
