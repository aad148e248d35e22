#include "ops/check.h"

#include <ATen/TensorOperators.h>

#include <cmath>
#include <sstream>
#include <stdexcept>

namespace fathom::ops {
namespace {

/// Largest error that rounding explains, as a share of the result's root mean square or of the
/// element where that is larger (products and exponentials have far tails). The reference reads the
/// very inputs, rounded as the op sees them; a bf16 result is itself rounded to 2^-9 of itself.
double tolerance(fixtures::Precision precision) {
  switch (precision) {
    case fixtures::Precision::kFp32:
      return 1e-4;
    case fixtures::Precision::kTf32:
      return 1e-2;
    case fixtures::Precision::kBf16:
      return 3e-2;
  }
  return 0;
}

}  // namespace

Tensors converted(const Tensors& tensors, at::ScalarType type, at::Device device) {
  Tensors all;
  for (const auto& tensor : tensors) {
    const auto wanted = tensor.is_floating_point() ? type : tensor.scalar_type();
    all.push_back(tensor.to(at::TensorOptions(wanted).device(device)));
  }
  return all;
}

Tensors cloned(const Tensors& tensors) {
  Tensors copies;
  for (const auto& tensor : tensors) copies.push_back(tensor.clone());
  return copies;
}

void expect_close(const Tensors& found, const Tensors& expected, fixtures::Precision precision,
                  double slack) {
  const Tensors exact = converted(expected, at::kDouble, at::kCPU);
  const Tensors rounded = converted(found, at::kDouble, at::kCPU);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    std::ostringstream what;
    if (rounded[i].sizes() != exact[i].sizes()) {
      what << "output " << i << " has shape " << rounded[i].sizes() << ", expected "
           << exact[i].sizes();
      throw std::runtime_error(what.str());
    }
    const at::Tensor reference = exact[i].to(at::kDouble);
    const double scale = std::sqrt(reference.square().mean().item<double>());
    const at::Tensor limit = reference.abs().clamp_min(scale).mul_(slack * tolerance(precision));
    const at::Tensor error = (rounded[i].to(at::kDouble) - reference).abs();
    const at::Tensor within = error <= limit;  // not so where the error is NaN
    if (!within.all().item<bool>()) {
      const at::Tensor worst = (error - limit).argmax();  // NaN counts as the largest
      what << "output " << i << " differs from the float64 reference by "
           << error.flatten()[worst.item<int64_t>()].item<double>() << ", expected at most "
           << limit.flatten()[worst.item<int64_t>()].item<double>();
      throw std::runtime_error(what.str());
    }
  }
}

Tensors Op::exact(const Tensors& inputs) const {
  return call(converted(inputs, at::kDouble, at::kCPU))();
}

void Op::check(const Tensors& /*inputs*/, const Tensors& outputs, fixtures::Precision precision,
               const Call& reference) const {
  expect_close(outputs, reference(), precision, slack(precision));
}

}  // namespace fathom::ops
