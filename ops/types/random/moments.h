#pragma once

#include "ops/core/op.h"

namespace fathom::ops {

/// Moments of a distribution.
struct Moments {
  double mean;
  double variance;
  double kurtosis;  ///< E[(x - mean)^4] / variance^2: sets the spread of a sample's variance
};

/// Throws std::runtime_error where the mean or variance of the drawn elements is more than six
/// standard errors from the expected one.
void expect_moments(const at::Tensor& drawn, const Moments& expected);

/// The same for the share of `hits`, a bool tensor of elements that are true with this probability.
void expect_share(const at::Tensor& hits, double probability);

}  // namespace fathom::ops
