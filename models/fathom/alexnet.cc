// alexnet: Krizhevsky, Sutskever and Hinton, "ImageNet Classification with Deep Convolutional
// Neural Networks", 2012: two groups, local response normalisation before pooling (section 3.3),
// dropout, and the training parameters of section 5.
// alexnet_repo: Fathom's released code: one tower, normalisation after pooling, no dropout, Adam.
// The release initialises linear layers with a standard deviation of 1, which makes the
// activations explode; here they start with a standard deviation of 0.01.
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include <algorithm>
#include <cmath>

#include "models/image_workload.h"
#include "models/layers.h"
#include "models/optimizers.h"
#include "models/table.h"

namespace fathom::models {
namespace {

namespace nn = torch::nn;

// LibTorch divides alpha by the window's size; the paper and TensorFlow don't.
constexpr ops::LocalResponseNormOptions kNorm2012{
    .size = 5, .alpha = 5 * 1e-4, .beta = 0.75, .bias = 2};
constexpr ops::LocalResponseNormOptions kNormRepo{
    .size = 9, .alpha = 9 * (0.001 / 9), .beta = 0.75, .bias = 1};

/// Sizes of the network. Small networks for tests divide the channels by `divisor`.
struct Sizes {
  fixtures::ImageShape image;
  int64_t divisor;
  int64_t hidden;
  int64_t last_side;  ///< side of the feature map before the linear layers
};

constexpr Sizes kAlexnet{{.side = 224, .classes = 1000}, 1, 4096, 6};
constexpr Sizes kAlexnetSmall{{.side = 67, .classes = 10}, 16, 64, 1};
constexpr Sizes kAlexnetRepo{{.side = 224, .classes = 1001, .first_label = 1}, 1, 4096, 6};
constexpr Sizes kAlexnetRepoSmall{{.side = 64, .classes = 10}, 16, 64, 1};

/// Initialises weights with standard deviation `deviation` and biases with 0, or with 1 in the
/// layers `with_bias_one`, so that the ReLUs learn early (section 5).
void initialise_2012(nn::Sequential& layers, double deviation,
                     const std::vector<std::string>& with_bias_one) {
  const torch::NoGradGuard no_grad;
  for (auto& parameter : layers->named_parameters()) {
    const std::string layer = parameter.key().substr(0, parameter.key().find('.'));
    const bool one =
        std::find(with_bias_one.begin(), with_bias_one.end(), layer) != with_bias_one.end();
    if (parameter->dim() > 1) {
      parameter->normal_(0, deviation);
    } else {
      parameter->fill_(one ? 1 : 0);
    }
  }
}

void push_conv(nn::Sequential& layers, const std::string& name, const nn::Conv2dOptions& options) {
  layers->push_back("conv" + name, nn::Conv2d(options));
  layers->push_back("relu" + name, nn::ReLU());
}

/// Adds a linear layer with a ReLU, and with dropout if `dropout` is not 0.
void push_linear(nn::Sequential& layers, const std::string& name, int64_t in, int64_t out,
                 double dropout) {
  layers->push_back("fc" + name, nn::Linear(in, out));
  layers->push_back("relu" + name, nn::ReLU());
  if (dropout > 0) layers->push_back("drop" + name, nn::Dropout(dropout));
}

nn::MaxPool2d max_pool() { return nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2)); }

nn::Sequential two_towers(const Sizes& sizes) {
  const auto scaled = [&](int64_t channels) { return channels / sizes.divisor; };
  nn::Sequential layers;
  push_conv(layers, "1", nn::Conv2dOptions(3, scaled(96), 11).stride(4).padding(2));
  layers->push_back("norm1", LocalResponseNorm(kNorm2012));
  layers->push_back("pool1", max_pool());
  push_conv(layers, "2", nn::Conv2dOptions(scaled(96), scaled(256), 5).padding(2).groups(2));
  layers->push_back("norm2", LocalResponseNorm(kNorm2012));
  layers->push_back("pool2", max_pool());
  push_conv(layers, "3", nn::Conv2dOptions(scaled(256), scaled(384), 3).padding(1));
  push_conv(layers, "4", nn::Conv2dOptions(scaled(384), scaled(384), 3).padding(1).groups(2));
  push_conv(layers, "5", nn::Conv2dOptions(scaled(384), scaled(256), 3).padding(1).groups(2));
  layers->push_back("pool5", max_pool());
  layers->push_back("flatten", nn::Flatten());
  push_linear(layers, "6", scaled(256) * sizes.last_side * sizes.last_side, sizes.hidden, 0.5);
  push_linear(layers, "7", sizes.hidden, sizes.hidden, 0.5);
  layers->push_back("fc8", nn::Linear(sizes.hidden, sizes.image.classes));
  // A narrower network sums fewer terms. Larger weights keep the scale of its activations.
  const double deviation = 0.01 * std::sqrt(static_cast<double>(sizes.divisor));
  initialise_2012(layers, deviation, {"conv2", "conv4", "conv5", "fc6", "fc7"});
  return layers;
}

nn::Sequential one_tower(const Sizes& sizes) {
  const auto scaled = [&](int64_t channels) { return channels / sizes.divisor; };
  nn::Sequential layers;
  layers->push_back("pad1", SamePad(11, 4));
  push_conv(layers, "1", nn::Conv2dOptions(3, scaled(64), 11).stride(4));
  layers->push_back("pool1", max_pool());
  layers->push_back("norm1", LocalResponseNorm(kNormRepo));
  push_conv(layers, "2", nn::Conv2dOptions(scaled(64), scaled(192), 5).padding(2));
  layers->push_back("pool2", max_pool());
  layers->push_back("norm2", LocalResponseNorm(kNormRepo));
  push_conv(layers, "3", nn::Conv2dOptions(scaled(192), scaled(384), 3).padding(1));
  push_conv(layers, "4", nn::Conv2dOptions(scaled(384), scaled(256), 3).padding(1));
  push_conv(layers, "5", nn::Conv2dOptions(scaled(256), scaled(256), 3).padding(1));
  layers->push_back("pool5", max_pool());
  layers->push_back("flatten", nn::Flatten());
  push_linear(layers, "6", scaled(256) * sizes.last_side * sizes.last_side, sizes.hidden, 0);
  push_linear(layers, "7", sizes.hidden, sizes.hidden, 0);
  layers->push_back("fc8", nn::Linear(sizes.hidden, sizes.image.classes));
  initialise_he(*layers);
  return layers;
}

}  // namespace

std::unique_ptr<Workload> make_alexnet(Scale scale) {
  const Sizes& sizes = scale == Scale::kFull ? kAlexnet : kAlexnetSmall;
  const auto layers = two_towers(sizes);
  return make_image_workload(sizes.image, layers, momentum(0.01, 0.9, 5e-4));
}

std::unique_ptr<Workload> make_alexnet_repo(Scale scale) {
  const Sizes& sizes = scale == Scale::kFull ? kAlexnetRepo : kAlexnetRepoSmall;
  const auto layers = one_tower(sizes);
  return make_image_workload(sizes.image, layers, adam(1e-3));
}

}  // namespace fathom::models
