#pragma once

#include <memory>
#include <string>

#include "models/network/network.h"
#include "models/optimizers.h"
#include "models/workload.h"

namespace fathom::models {

/// A network from a file as a workload. Its first batch is the network's inputs; in further ones,
/// samples change places and integers are drawn between the smallest and the largest. Training
/// minimises the only output, with SGD 0.01.
class NetworkWorkload final : public Workload {
 public:
  static constexpr double kRate = 0.01;

  explicit NetworkWorkload(std::unique_ptr<Network> network) : network_(std::move(network)) {}

  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override;
  /// That of the last result, which only the file decides.
  std::vector<int64_t> output_shape(int64_t batch) const override;
  /// The first output that has floats, or else the first.
  at::Tensor infer(const fixtures::Batch& batch) override;
  at::Tensor loss(const fixtures::Batch& batch) override;
  void update() override { optimizer_.step(module()); }

  torch::nn::Module& module() override { return network_->module(); }
  std::vector<at::Tensor> optimizer_state() const override { return optimizer_.state(); }

  const Network& network() const { return *network_; }
  /// All outputs of the last call.
  const std::vector<at::Tensor>& outputs() const { return outputs_; }

 private:
  std::unique_ptr<Network> network_;
  std::vector<at::Tensor> outputs_;
  std::vector<int64_t> output_shape_;
  Optimizer optimizer_ = sgd(kRate);
};

}  // namespace fathom::models
