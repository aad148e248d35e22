#pragma once

#include <torch/nn/modules/container/sequential.h>

#include <memory>

#include "fixtures/images/images.h"
#include "models/optimizers.h"
#include "models/workload.h"

namespace fathom::models {

/// A classifier of images. The loss is the mean cross-entropy.
class ImageWorkload : public Workload {
 public:
  ImageWorkload(fixtures::ImageShape image, Optimizer optimizer)
      : image_(image), optimizer_(std::move(optimizer)) {}

  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override;
  std::vector<int64_t> output_shape(int64_t batch) const override;

  at::Tensor infer(const fixtures::Batch& batch) override;
  at::Tensor loss(const fixtures::Batch& batch) override;
  void update() override { optimizer_.step(module()); }
  std::vector<at::Tensor> optimizer_state() const override { return optimizer_.state(); }

 protected:
  /// Images [N, 3, S, S] to logits [N, classes].
  virtual at::Tensor logits(const at::Tensor& images) = 0;

 private:
  fixtures::ImageShape image_;
  Optimizer optimizer_;
};

/// An image classifier with `net`, which maps [N, 3, S, S] to logits [N, classes].
std::unique_ptr<Workload> make_image_workload(fixtures::ImageShape image, torch::nn::Sequential net,
                                              Optimizer optimizer);

}  // namespace fathom::models
