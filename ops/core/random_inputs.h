#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <cstdint>

namespace fathom::ops {

/// Draws inputs in sequence. The same seed gives the same tensors.
class RandomInputs {
 public:
  explicit RandomInputs(uint64_t seed)
      : generator_(at::make_generator<at::CPUGeneratorImpl>(seed)) {}

  at::Tensor normal(at::IntArrayRef sizes, double deviation = 1) {
    return at::empty(sizes).normal_(0, deviation, generator_);
  }
  at::Tensor uniform(at::IntArrayRef sizes, double low, double high) {
    return at::empty(sizes).uniform_(low, high, generator_);
  }
  /// A weight that keeps the standard deviation of normal data in a product: N(0, 1 / fan_in).
  at::Tensor weight(at::IntArrayRef sizes, int64_t fan_in) {
    return normal(sizes, 1 / std::sqrt(static_cast<double>(fan_in)));
  }
  /// int64, uniform in [low, high).
  at::Tensor integers(at::IntArrayRef sizes, int64_t low, int64_t high) {
    return at::empty(sizes, at::kLong).random_(low, high, generator_);
  }
  /// Word ids below `classes`, ranked by frequency, near Zipf's law: P(k) ~ 1 / (k + 1).
  at::Tensor words(at::IntArrayRef sizes, int64_t classes) {
    const double range = std::log1p(static_cast<double>(classes));
    return at::empty(sizes, at::kDouble)
        .uniform_(0, range, generator_)
        .expm1_()
        .clamp_(0, static_cast<double>(classes - 1))
        .to(at::kLong);
  }
  const at::Generator& generator() const { return generator_; }

 private:
  at::Generator generator_;
};

}  // namespace fathom::ops
