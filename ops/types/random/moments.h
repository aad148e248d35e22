#pragma once

#include "ops/core/op.h"

namespace fathom::ops {

/// Of a distribution.
struct Moments {
  double mean;
  double variance;
  double kurtosis;  ///< E[(x - mean)^4] / variance^2: how far a sample's variance strays
};

/// Throws std::runtime_error where mean or variance of the drawn elements are further from the
/// distribution's than one draw in a hundred million strays.
void expect_moments(const at::Tensor& drawn, const Moments& expected);

/// The same for the share of `hits`, a tensor of bool that are true by `probability`.
void expect_share(const at::Tensor& hits, double probability);

}  // namespace fathom::ops
