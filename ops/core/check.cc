#include "ops/core/check.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace fathom::ops {
namespace {

constexpr int64_t kGrain = 1 << 14;  // minimum elements per thread
constexpr double kSummands = 2;      // that cancel; each is rounded

/// The error of one element and its limit.
struct Error {
  double value = 0;
  double limit = 0;
};

using Worst = std::optional<Error>;

/// The worse of two errors; NaN is worse than any number.
Worst worse(const Worst& a, const Worst& b) {
  if (!a || !b) return a ? a : b;
  return std::isnan(a->value) || a->value - a->limit >= b->value - b->limit ? a : b;
}

/// What an output is compared with.
struct Expected {
  const double* values;
  int64_t count;
  double scale;  ///< the root mean square of the values
  double share;  ///< the limit is this share of the value or of `scale`, whichever is larger
  const double* summands = nullptr;  ///< and at least `summand_share` of these, if there are any
  double summand_share = 0;
};

/// The worst error that exceeds its limit, if any.
template <typename T>
Worst worst(const T* found, const Expected& expected) {
  return at::parallel_reduce(
      0, expected.count, kGrain, Worst(),
      [&](int64_t begin, int64_t end, Worst sofar) {
        for (int64_t i = begin; i < end; ++i) {
          const double value = expected.values[i];
          const double least =
              expected.summands == nullptr ? 0 : expected.summand_share * expected.summands[i];
          const Error error{
              .value = std::abs(static_cast<double>(found[i]) - value),
              .limit = std::max(expected.share * std::max(std::abs(value), expected.scale), least)};
          if (!(error.value <= error.limit)) sofar = worse(sofar, error);  // true for NaN, too
        }
        return sofar;
      },
      worse);
}

double root_mean_square(const at::Tensor& values) {
  return at::linalg_vector_norm(values).item<double>() /
         std::sqrt(static_cast<double>(values.numel()));
}

/// The sizes of the summands of output number `output` that cancel in `expected`; undefined where
/// they are not known. An op of several calls rounds its result a few times, which doesn't count.
at::Tensor cancelling(Summands* summands, std::size_t output, const at::Tensor& expected) {
  constexpr double kOwn = 4;
  if (summands == nullptr || output >= summands->sizes().size()) return {};
  return (summands->sizes()[output] - kOwn * expected.abs()).clamp_min(0).contiguous();
}

/// Compares output number `output`, the one of this number of `summands`.
void expect_close(std::size_t output, const at::Tensor& found, const at::Tensor& expected,
                  double tolerance_factor, fixtures::Precision precision, Summands* summands,
                  std::size_t summand) {
  const at::Tensor outputs = found.cpu().contiguous();
  const at::Tensor reference = expected.to(at::kDouble).contiguous();
  Expected values{.values = reference.const_data_ptr<double>(),
                  .count = reference.numel(),
                  .scale = root_mean_square(reference),
                  .share = tolerance_factor * tolerance(precision)};
  const auto compare = [&] {
    return AT_DISPATCH_ALL_TYPES_AND3(
        at::kHalf, at::kBFloat16, at::kBool, outputs.scalar_type(), "expect_close",
        [&] { return worst(outputs.const_data_ptr<scalar_t>(), values); });
  };
  Worst error = compare();
  if (!error) return;
  if (const at::Tensor sizes = cancelling(summands, summand, reference); sizes.defined()) {
    values.summands = sizes.const_data_ptr<double>();
    values.summand_share = kSummands * tolerance(precision);
    error = compare();
    if (!error) return;
  }
  std::ostringstream what;
  what << "output " << output << " differs from the float64 reference by " << error->value
       << ", expected at most " << error->limit;
  throw std::runtime_error(what.str());
}

}  // namespace

double tolerance(fixtures::Precision precision) {
  switch (precision) {
    case fixtures::Precision::kFp32:
      return 1e-4;
    case fixtures::Precision::kTf32:
      return 1e-2;
    case fixtures::Precision::kBf16:
      return 3e-2;
    case fixtures::Precision::kFp16:
      return 4e-3;
    default:  // sums of codes and products of weights of few bits are as exact as in fp32
      return tolerance(fixtures::Precision::kFp32);
  }
}

at::ScalarType scalar_type(fixtures::Precision precision) {
  switch (precision) {
    case fixtures::Precision::kBf16:
      return at::kBFloat16;
    case fixtures::Precision::kFp16:
      return at::kHalf;
    default:
      return at::kFloat;
  }
}

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

double relative_distance(const at::Tensor& found, const at::Tensor& exact) {
  const at::Tensor reference = exact.to(at::kDouble);
  return root_mean_square(found.to(at::kDouble) - reference) / root_mean_square(reference);
}

void expect_close(const Tensors& found, const Tensors& expected, fixtures::Precision precision,
                  double tolerance_factor, std::size_t first, Summands* summands) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (found[i].sizes() != expected[i].sizes()) {
      std::ostringstream what;
      what << "output " << first + i << " has shape " << found[i].sizes() << ", expected "
           << expected[i].sizes();
      throw std::runtime_error(what.str());
    }
    expect_close(first + i, found[i], expected[i], tolerance_factor, precision, summands, i);
  }
}

void expect_small_error(const Tensors& found, const Tensors& expected,
                        fixtures::Precision precision, double share, Summands* summands) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const at::Tensor exact = expected[i].to(at::kDouble);
    const double error = root_mean_square(found[i].cpu().to(at::kDouble).sub(exact));
    double limit = share * root_mean_square(exact);
    if (error <= limit) continue;
    if (const at::Tensor sizes = cancelling(summands, i, exact); sizes.defined())
      limit = std::max(limit, kSummands * tolerance(precision) * root_mean_square(sizes));
    if (error <= limit) continue;
    std::ostringstream what;
    what << "output " << i << " differs from the float64 reference by a root mean square of "
         << error << ", expected at most " << limit;
    throw std::runtime_error(what.str());
  }
}

Tensors Op::exact(const Tensors& inputs) const {
  return call(converted(inputs, at::kDouble, at::kCPU))();
}

void Op::check(const Tensors& inputs, const Tensors& outputs, fixtures::Precision precision,
               const Call& reference) const {
  const Tensors expected = reference();
  Summands summands(*this, inputs, expected);
  const double factor = tolerance_factor(precision);
  expect_close(outputs, expected, precision, factor, 0, &summands);
  // A limit this wide accepts zeros. So the mean error is limited, too.
  constexpr double kWide = 0.5;
  if (factor * tolerance(precision) > kWide)
    expect_small_error(outputs, expected, precision, kWide, &summands);
}

}  // namespace fathom::ops
