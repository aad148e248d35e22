#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <cstdint>

namespace fathom::ops {

/// Inputs drawn one after the other: the same seed, the same tensors.
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
  /// A factor whose products with normal data of `fan_in` elements keep their deviation.
  at::Tensor weight(at::IntArrayRef sizes, int64_t fan_in) {
    return normal(sizes, 1 / std::sqrt(static_cast<double>(fan_in)));
  }
  /// int64, from `least` to below `end`.
  at::Tensor integers(at::IntArrayRef sizes, int64_t least, int64_t end) {
    return at::empty(sizes, at::kLong).random_(least, end, generator_);
  }
  /// Words in order of frequency, near Zipf's law: P(k) ~ 1 / (k + 1), k < `classes`.
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
