#include "models/image_workload.h"

#include <torch/nn/functional/loss.h>

namespace fathom::models {
namespace {

class ImageWorkload final : public Workload {
 public:
  ImageWorkload(fixtures::ImageShape image, torch::nn::Sequential net, Optimizer optimizer)
      : image_(image), net_(std::move(net)), optimizer_(std::move(optimizer)) {}

  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    return fixtures::images(image_, request);
  }
  std::vector<int64_t> output_shape(int64_t batch) const override {
    return {batch, image_.classes};
  }

  at::Tensor infer(const fixtures::Batch& batch) override {
    return net_->forward(batch[fixtures::kImages]);
  }
  at::Tensor loss(const fixtures::Batch& batch) override {
    return torch::nn::functional::cross_entropy(infer(batch), batch[fixtures::kLabels]);
  }
  void update() override { optimizer_.step(*net_); }

  torch::nn::Module& module() override { return *net_; }
  std::vector<at::Tensor> optimizer_state() const override { return optimizer_.state(); }

 private:
  fixtures::ImageShape image_;
  torch::nn::Sequential net_;
  Optimizer optimizer_;
};

}  // namespace

std::unique_ptr<Workload> make_image_workload(fixtures::ImageShape image, torch::nn::Sequential net,
                                              Optimizer optimizer) {
  return std::make_unique<ImageWorkload>(image, std::move(net), std::move(optimizer));
}

}  // namespace fathom::models
