#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace fathom::models {

/// The factor on a loss that keeps gradients in the range of fp16, as torch.amp.GradScaler has it:
/// it begins at 2^16, doubles after 2,000 updates and halves where a gradient overflows.
class LossScale {
 public:
  explicit LossScale(at::Device device);

  /// The factor, a scalar.
  const at::Tensor& factor() const { return factor_; }

  /// Divides gradients by the factor and adapts it. Where one of them overflows, removes all
  /// gradients and returns false: the update is then left out. Waits for the device.
  bool unscale(const std::vector<at::Tensor>& parameters);

 private:
  at::Tensor factor_;
  at::Tensor updates_;   ///< since the factor last changed
  at::Tensor overflow_;  ///< 1 where a gradient overflows
};

}  // namespace fathom::models
