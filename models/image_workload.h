#pragma once

#include <torch/nn/modules/container/sequential.h>
#include <torch/optim/optimizer.h>

#include <memory>

#include "fixtures/images.h"
#include "models/workload.h"

namespace fathom::models {

/// A classifier of images, [N, 3, S, S] to logits [N, classes], trained on the mean cross-entropy.
/// `optimizer` holds the parameters of `net`.
std::unique_ptr<Workload> make_image_workload(fixtures::ImageShape image, torch::nn::Sequential net,
                                              std::unique_ptr<torch::optim::Optimizer> optimizer);

}  // namespace fathom::models
