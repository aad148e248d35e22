#pragma once

#include <cmath>

#include "ops/cuda/host_device.h"

namespace fathom::ops {

/// RMSProp in TensorFlow's form: mean_square <- decay · mean_square + (1 - decay) · g², then
/// p <- p - rate · g / sqrt(mean_square + epsilon). TensorFlow starts mean_square at 1; LibTorch
/// starts it at 0 and adds epsilon outside the root.
struct RmsProp {
  double rate;
  double decay;
  double epsilon;
};

/// The update of one element, in the elements' type.
template <typename T>
struct RmsPropRule {
  explicit RmsPropRule(const RmsProp& options)
      : rate(static_cast<T>(options.rate)),
        decay(static_cast<T>(options.decay)),
        rest(static_cast<T>(1 - options.decay)),
        epsilon(static_cast<T>(options.epsilon)) {}

  FATHOM_HOST_DEVICE void apply(T g, T& mean_square, T& p) const {
    using std::sqrt;
    mean_square = decay * mean_square + rest * g * g;
    p -= rate * g / sqrt(mean_square + epsilon);
  }

  T rate;
  T decay;
  T rest;
  T epsilon;
};

}  // namespace fathom::ops
