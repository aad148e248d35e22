#include "ops/types/random/moments.h"

#include <ATen/TensorOperators.h>

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace fathom::ops {
namespace {

/// The limit is six standard errors. It is larger for few draws, because their mean is not yet
/// normally distributed. One thousandth is for the rounding of bf16.
void expect_near(std::string_view what, double found, double expected, double deviation,
                 double count) {
  const double limit = deviation * (6 / std::sqrt(count) + 30 / count + 1e-3);
  if (std::abs(found - expected) <= limit) return;
  std::ostringstream message;
  message << "the " << what << " of " << count << " draws is " << found << ", expected " << expected
          << " within " << limit;
  throw std::runtime_error(message.str());
}

}  // namespace

void expect_moments(const at::Tensor& drawn, const Moments& expected) {
  const at::Tensor off = drawn.to(at::kDouble) - expected.mean;
  const auto count = static_cast<double>(drawn.numel());
  expect_near("mean", expected.mean + off.mean().item<double>(), expected.mean,
              std::sqrt(expected.variance), count);
  expect_near("variance", off.square().mean().item<double>(), expected.variance,
              expected.variance * std::sqrt(expected.kurtosis - 1), count);
}

void expect_share(const at::Tensor& hits, double probability) {
  expect_near("share", hits.to(at::kDouble).mean().item<double>(), probability,
              std::sqrt(probability * (1 - probability)), static_cast<double>(hits.numel()));
}

}  // namespace fathom::ops
