// vgg: Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
// Recognition", 2014, configuration E, with the training parameters of section 3.1.
// vgg_repo: Fathom's released code: 15 layers, ReLU on the logits too, Adam. The release
// initialises weights with a standard deviation of 0.1, which makes the activations explode. Here
// both networks use initialise_he() (models/layers.h).
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include <array>

#include "models/image_workload.h"
#include "models/layers.h"
#include "models/optimizers.h"
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
  double dropout;
  bool relu_on_logits;
};

constexpr Sizes kVgg{{.side = 224, .classes = 1000},
                     {{{2, 64}, {2, 128}, {4, 256}, {4, 512}, {4, 512}}},
                     4096,
                     0.5,
                     false};
constexpr Sizes kVggRepo{{.side = 224, .classes = 1001, .first_label = 1},
                         {{{2, 64}, {2, 128}, {2, 256}, {3, 512}, {3, 512}}},
                         4096,
                         0.2,
                         true};

/// The same layers with fewer channels, for small images.
Sizes shrunk(Sizes sizes) {
  sizes.image = {.side = 32, .classes = 10};
  for (auto& block : sizes.blocks) block.channels /= 16;
  sizes.hidden = 64;
  return sizes;
}

nn::Sequential net(const Sizes& sizes) {
  nn::Sequential layers;
  int64_t channels = 3;
  int64_t side = sizes.image.side;
  for (std::size_t b = 0; b < sizes.blocks.size(); ++b) {
    const auto& [convolutions, width] = sizes.blocks[b];
    const std::string block = std::to_string(b + 1);
    for (int c = 1; c <= convolutions; ++c) {
      const std::string layer = block + '_' + std::to_string(c);
      layers->push_back("conv" + layer,
                        nn::Conv2d(nn::Conv2dOptions(channels, width, 3).padding(1)));
      layers->push_back("relu" + layer, nn::ReLU());
      channels = width;
    }
    layers->push_back("pool" + block, nn::MaxPool2d(2));
    side /= 2;
  }
  layers->push_back("flatten", nn::Flatten());
  layers->push_back("fc6", nn::Linear(channels * side * side, sizes.hidden));
  layers->push_back("relu6", nn::ReLU());
  layers->push_back("drop6", nn::Dropout(sizes.dropout));
  layers->push_back("fc7", nn::Linear(sizes.hidden, sizes.hidden));
  layers->push_back("relu7", nn::ReLU());
  layers->push_back("drop7", nn::Dropout(sizes.dropout));
  layers->push_back("fc8", nn::Linear(sizes.hidden, sizes.image.classes));
  if (sizes.relu_on_logits) layers->push_back("relu8", nn::ReLU());
  initialise_he(*layers);
  return layers;
}

}  // namespace

std::unique_ptr<Workload> make_vgg(Scale scale) {
  const Sizes sizes = scale == Scale::kFull ? kVgg : shrunk(kVgg);
  const auto layers = net(sizes);
  constexpr double kRate = 0.01 * 8 / 256;  // 0.01 is for a batch of 256 images
  return make_image_workload(sizes.image, layers, momentum(kRate, 0.9, 5e-4));
}

std::unique_ptr<Workload> make_vgg_repo(Scale scale) {
  const Sizes sizes = scale == Scale::kFull ? kVggRepo : shrunk(kVggRepo);
  const auto layers = net(sizes);
  return make_image_workload(sizes.image, layers, adam(1e-4));
}

}  // namespace fathom::models
