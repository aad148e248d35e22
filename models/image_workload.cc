#include "models/image_workload.h"

#include <torch/nn/functional/loss.h>

namespace fathom::models {
namespace {

class SequentialWorkload final : public ImageWorkload {
 public:
  SequentialWorkload(fixtures::ImageShape image, torch::nn::Sequential net, Optimizer optimizer)
      : ImageWorkload(image, std::move(optimizer)), net_(std::move(net)) {}

  torch::nn::Module& module() override { return *net_; }

 private:
  at::Tensor logits(const at::Tensor& images) override { return net_->forward(images); }

  torch::nn::Sequential net_;
};

}  // namespace

fixtures::BatchSet ImageWorkload::batches(const fixtures::BatchRequest& request) const {
  return fixtures::images(image_, request);
}

std::vector<int64_t> ImageWorkload::output_shape(int64_t batch) const {
  return {batch, image_.classes};
}

at::Tensor ImageWorkload::infer(const fixtures::Batch& batch) {
  return logits(batch[fixtures::kImages]);
}

at::Tensor ImageWorkload::loss(const fixtures::Batch& batch) {
  return torch::nn::functional::cross_entropy(infer(batch), batch[fixtures::kLabels]);
}

std::unique_ptr<Workload> make_image_workload(fixtures::ImageShape image, torch::nn::Sequential net,
                                              Optimizer optimizer) {
  return std::make_unique<SequentialWorkload>(image, std::move(net), std::move(optimizer));
}

}  // namespace fathom::models
