// resnet50: He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", 2015: the
// network of 50 layers, with the stride of a stage in its first 3 x 3 convolution, as in
// torchvision.
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include <array>
#include <string>

#include "models/image_workload.h"
#include "models/layers.h"
#include "models/optimizers.h"
#include "models/table.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;

struct Stage {
  int blocks;
  int64_t width;  ///< channels of the 3 x 3 convolutions
};

struct Sizes {
  fixtures::ImageShape image;
  int64_t stem;  ///< channels of the first convolution
  std::array<Stage, 4> stages;
};

constexpr Sizes kResNet50{
    {.side = 224, .classes = 1000}, 64, {{{3, 64}, {4, 128}, {6, 256}, {3, 512}}}};
constexpr Sizes kSmall{{.side = 32, .classes = 10}, 8, {{{3, 8}, {4, 16}, {6, 32}, {3, 64}}}};

constexpr int64_t kExpansion = 4;  ///< output channels of a block for each channel of its width

nn::Conv2dOptions convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
  return nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2);
}

/// Convolutions of 1 x 1, 3 x 3 and 1 x 1 pixels and a shortcut: [N, in, S, S] to
/// [N, 4 width, S / stride, S / stride]. The shortcut has a 1 x 1 convolution where the shape
/// changes.
class BottleneckImpl : public nn::Cloneable<BottleneckImpl> {
 public:
  BottleneckImpl(int64_t in, int64_t width, int64_t stride)
      : in_(in), width_(width), stride_(stride) {
    BottleneckImpl::reset();
  }
  void reset() override {
    const int64_t out = kExpansion * width_;
    reduce_ = register_module("reduce", ConvNorm(convolution(in_, width_, 1)));
    middle_ = register_module("middle", ConvNorm(convolution(width_, width_, 3, stride_)));
    expand_ = register_module("expand", ConvNorm(convolution(width_, out, 1), /*relu=*/false));
    if (in_ == out && stride_ == 1) return;
    shortcut_ =
        register_module("shortcut", ConvNorm(convolution(in_, out, 1, stride_), /*relu=*/false));
  }
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor inner = expand_(middle_(reduce_(x)));
    return inner.add_(shortcut_.is_empty() ? x : shortcut_(x)).relu_();
  }

 private:
  int64_t in_;
  int64_t width_;
  int64_t stride_;
  ConvNorm reduce_{nullptr};
  ConvNorm middle_{nullptr};
  ConvNorm expand_{nullptr};
  ConvNorm shortcut_{nullptr};
};
TORCH_MODULE(Bottleneck);

nn::Sequential net(const Sizes& sizes) {
  nn::Sequential layers;
  int64_t channels = sizes.stem;
  layers->push_back("stem", ConvNorm(convolution(3, channels, 7, 2)));
  layers->push_back("pool1", nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  for (std::size_t s = 0; s < sizes.stages.size(); ++s) {
    for (int b = 0; b < sizes.stages[s].blocks; ++b) {
      const int64_t stride = s > 0 && b == 0 ? 2 : 1;
      layers->push_back("block" + std::to_string(s + 1) + '_' + std::to_string(b + 1),
                        Bottleneck(channels, sizes.stages[s].width, stride));
      channels = kExpansion * sizes.stages[s].width;
    }
  }
  layers->push_back("pool", nn::AdaptiveAvgPool2d(1));
  layers->push_back("flatten", nn::Flatten());
  layers->push_back("fc", nn::Linear(channels, sizes.image.classes));
  initialise_convolutions_he(*layers);
  return layers;
}

}  // namespace

std::unique_ptr<Workload> make_resnet50(Scale scale) {
  const Sizes sizes = scale == Scale::kFull ? kResNet50 : kSmall;
  constexpr double kRate = 0.1 * 32 / 256;  // 0.1 is for a batch of 256 images
  return make_image_workload(sizes.image, net(sizes), momentum(kRate, 0.9, 1e-4));
}

}  // namespace fathom::models
