#pragma once

#include <torch/nn/modules/container/sequential.h>

#include <memory>

#include "fixtures/images/images.h"
#include "models/optimizers.h"
#include "models/workload.h"

namespace fathom::models {

/// An image classifier: `net` maps [N, 3, S, S] to logits [N, classes]. The loss is the mean
/// cross-entropy.
std::unique_ptr<Workload> make_image_workload(fixtures::ImageShape image, torch::nn::Sequential net,
                                              Optimizer optimizer);

}  // namespace fathom::models
