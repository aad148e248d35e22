#pragma once

#include <cstdint>

namespace fathom::ops {

/// y_c = x_c / (bias + alpha / size · Σ x_j²)^beta over the `size` channels j around c. Krizhevsky,
/// Sutskever and Hinton 2012, section 3.3, but alpha is divided by the size, as in LibTorch.
struct LocalResponseNormOptions {
  int64_t size;  ///< odd
  double alpha;
  double beta;
  double bias;
};

/// The norm's constants in the type of the sums.
template <typename Sum>
struct NormConstants {
  explicit NormConstants(const LocalResponseNormOptions& norm)
      : size(norm.size),
        share(static_cast<Sum>(norm.alpha / static_cast<double>(norm.size))),
        beta(static_cast<Sum>(norm.beta)),
        bias(static_cast<Sum>(norm.bias)),
        three_quarters(norm.beta == 0.75) {}

  int64_t size;
  Sum share;
  Sum beta;
  Sum bias;
  bool three_quarters;  ///< beta of the papers, which square roots give faster than pow()
};

}  // namespace fathom::ops
