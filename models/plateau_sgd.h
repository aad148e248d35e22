#pragma once

#include <ATen/core/Tensor.h>

#include <deque>
#include <vector>

namespace fathom::models {

/// Stochastic gradient descent as in TensorFlow's translation tutorial: gradients are clipped to a
/// total norm, and the rate of later steps decays by 1 % whenever the loss exceeds the three losses
/// before. Gradients may be sparse, which LibTorch's clip_grad_norm_ does not support.
class PlateauSgd {
 public:
  PlateauSgd(double rate, double max_norm) : rate_(rate), max_norm_(max_norm) {}

  /// Applies the gradients of the step that had this scalar `loss`, then frees them. The learning
  /// rate includes the clip factor, which saves a pass over the gradients.
  void step(const std::vector<at::Tensor>& parameters, const at::Tensor& loss);

  /// What step() does on a GPU: the rate and the norm stay there, so that the CPU never waits for
  /// them. For tests, it runs on the CPU, too.
  void step_on_device(const std::vector<at::Tensor>& parameters, const at::Tensor& loss);

 private:
  void step_on_cpu(const std::vector<at::Tensor>& parameters, double loss);

  double rate_;
  double max_norm_;
  std::deque<double> losses_;
  at::Tensor device_rate_;    ///< of step_on_device(): double, []
  at::Tensor device_losses_;  ///< of step_on_device(): double, [3], infinite at first
};

/// The rows of a sparse gradient [V, H], where rows of one index are added up: the first of them
/// holds the sum, or another of them, and the others are zero. Unlike coalesce(), it keeps the
/// number of rows, so that the CPU need not wait for a GPU to learn it.
at::Tensor summed_rows(const at::Tensor& gradient);

}  // namespace fathom::models
