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
#include "models/tbd/bottleneck.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;

struct Sizes {
  fixtures::ImageShape image;
  int64_t stem;  ///< channels of the first convolution
  std::array<Stage, 4> stages;
};

constexpr Sizes kResNet50{
    {.side = 224, .classes = 1000}, 64, {{{3, 64}, {4, 128}, {6, 256}, {3, 512}}}};
constexpr Sizes kSmall{{.side = 32, .classes = 10}, 8, {{{3, 8}, {4, 16}, {6, 32}, {3, 64}}}};

nn::Sequential net(const Sizes& sizes) {
  nn::Sequential layers;
  int64_t channels = sizes.stem;
  layers->push_back("stem", ConvNorm(convolution(3, channels, 7, 2)));
  layers->push_back("pool1", nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  for (std::size_t s = 0; s < sizes.stages.size(); ++s) {
    channels = push_stage<ConvNorm>(layers, "block" + std::to_string(s + 1), channels,
                                    sizes.stages[s], s > 0 ? 2 : 1);
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
