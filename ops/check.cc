#include "ops/check.h"

#include <ATen/TensorOperators.h>

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <vector>

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

std::vector<at::Tensor> in_blocks(const at::Tensor& tensor) {
  return tensor.cpu().flatten().split(kCheckBlock);
}

double root_mean_square(const std::vector<at::Tensor>& blocks) {
  double squares = 0;
  int64_t count = 0;
  for (const auto& block : blocks) {
    squares += block.to(at::kDouble).square().sum().item<double>();
    count += block.numel();
  }
  return std::sqrt(squares / static_cast<double>(count));
}

/// Of output number `output`; errors may be `share` of an element or of the root mean square.
void expect_close(std::size_t output, const std::vector<at::Tensor>& found,
                  const std::vector<at::Tensor>& expected, double share) {
  const double scale = root_mean_square(expected);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const at::Tensor reference = expected[i].to(at::kDouble);
    const at::Tensor limit = reference.abs().clamp_min_(scale).mul_(share);
    const at::Tensor error = (found[i].to(at::kDouble) - reference).abs_();
    if ((error <= limit).all().item<bool>()) continue;            // not so where the error is NaN
    const auto worst = (error - limit).argmax().item<int64_t>();  // NaN counts as the largest
    std::ostringstream what;
    what << "output " << output << " differs from the float64 reference by "
         << error[worst].item<double>() << ", expected at most " << limit[worst].item<double>();
    throw std::runtime_error(what.str());
  }
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
                  double slack, std::size_t first) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (found[i].sizes() != expected[i].sizes()) {
      std::ostringstream what;
      what << "output " << first + i << " has shape " << found[i].sizes() << ", expected "
           << expected[i].sizes();
      throw std::runtime_error(what.str());
    }
    expect_close(first + i, in_blocks(found[i]), in_blocks(expected[i]),
                 slack * tolerance(precision));
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
