#include "benchmarks/tasks/first_steps.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/rand.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace fathom::benchmarks {
namespace {

/// Limit of a difference, as a share of the tensor's norm.
double tolerance(fixtures::Precision precision) {
  switch (precision) {
    case fixtures::Precision::kFp32:
      return 1e-3;
    case fixtures::Precision::kFp16:
      return 0.01;
    default:
      return 0.05;
  }
}

// Where rounding the weights changes a tensor or all gradients by more: so many times that change,
// because a step rounds many times.
constexpr double kRoundings = 10;
// A gradient smaller than this share of all gradients is compared with this share: where the exact
// one is zero, only rounding is left.
constexpr double kNegligible = 1e-3;

/// By which share weights are changed: eight units in the last place of fp32, as much as the order
/// of adding changes a sum of some thousand products; one of bf16 or fp16, in which only results
/// are rounded.
double change(fixtures::Precision precision) {
  switch (precision) {
    case fixtures::Precision::kFp32:
      return 0x1p-20;
    case fixtures::Precision::kFp16:
      return 0x1p-11;
    default:
      return 0x1p-8;
  }
}

double norm_of(const at::Tensor& tensor) {
  return at::linalg_vector_norm(tensor.to(at::kFloat), 2, {}, false, at::kDouble).item<double>();
}

at::Tensor copied(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.is_sparse() ? tensor.to_dense() : tensor;
  return dense.detach().to(at::kCPU, /*non_blocking=*/false, /*copy=*/true);
}

/// Elements from everywhere in a gradient, all rows and all columns: the gradients of three runs of
/// three steps would take nine times the memory of the weights.
at::Tensor sampled(const at::Tensor& gradient) {
  constexpr int64_t kMost = 1 << 20;  // elements, about
  if (gradient.numel() <= kMost || gradient.is_sparse()) return copied(gradient);
  int64_t stride = gradient.numel() / kMost;
  while (std::gcd(stride, gradient.size(-1)) > 1) ++stride;
  return copied(gradient.flatten().slice(0, 0, gradient.numel(), stride));
}

/// The norm of the difference; of integers, such as words, the root of the number that differ.
double difference(const at::Tensor& a, const at::Tensor& b) {
  if (!a.is_floating_point()) return norm_of(a.ne(b));
  return norm_of(a.to(at::kFloat) - b.to(at::kFloat));
}

/// What difference() is compared with.
double size(const at::Tensor& tensor) {
  return tensor.is_floating_point() ? norm_of(tensor)
                                    : std::sqrt(static_cast<double>(tensor.numel()));
}

/// The norm of all gradients of a step.
double norm_of(const StepResults& step) {
  double squares = 0;
  for (const auto& [name, gradient] : step.gradients) squares += std::pow(norm_of(gradient), 2);
  return std::sqrt(squares);
}

/// The norm of the difference of all gradients.
double difference(const StepResults& a, const StepResults& b) {
  double squares = 0;
  for (const auto& [name, gradient] : a.gradients)
    squares += std::pow(difference(gradient, b.gradients.at(name)), 2);
  return std::sqrt(squares);
}

struct Triple {
  const at::Tensor& expected;
  const at::Tensor& rounded;
  const at::Tensor& found;
};

/// Throws where `found` differs by more than `limit`, a share of `scale`, and by more than
/// rounding.
void expect_near(const std::string& what, const Triple& tensors, double scale, double limit) {
  const auto& [expected, rounded, found] = tensors;
  std::ostringstream text;
  if (expected.sizes() != found.sizes()) {
    text << what << " has sizes " << found.sizes() << ", with LibTorch's kernels "
         << expected.sizes();
    throw std::runtime_error(text.str());
  }
  const double share = difference(expected, found) / scale;
  const double most = std::max(limit, kRoundings * difference(expected, rounded) / scale);
  if (share <= most) return;
  text << what << " differs by " << share << " of its norm from that of LibTorch's kernels, "
       << "expected at most " << most;
  throw std::runtime_error(text.str());
}

/// What a gradient's difference is compared with; `all` is the norm of all gradients.
double scale(const at::Tensor& gradient, double all) {
  return std::max(norm_of(gradient), kNegligible * all);
}

/// The largest change of a gradient by rounding, in any step. In each run other ReLUs change sign,
/// so that any gradient may change like this one.
double largest_change(const std::vector<StepResults>& expected,
                      const std::vector<StepResults>& rounded) {
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double all = norm_of(expected[i]);
    for (const auto& [name, gradient] : expected[i].gradients) {
      const double change = difference(gradient, rounded[i].gradients.at(name));
      largest = std::max(largest, change / scale(gradient, all));
    }
  }
  return largest;
}

/// The same for the results of a step; `step` is "in step 1 the ", `change` the largest_change().
void expect_near(const std::string& step, const StepResults& expected, const StepResults& rounded,
                 const StepResults& found, double change, double limit) {
  expect_near(step + (expected.gradients.empty() ? "output" : "loss"),
              {expected.result, rounded.result, found.result}, size(expected.result), limit);
  const double all = norm_of(expected);
  limit = std::max({limit, change, kRoundings * difference(expected, rounded) / all});
  for (const auto& [name, gradient] : expected.gradients) {
    const std::string what = std::string(step).append("gradient of ").append(name);
    const auto other = found.gradients.find(name);
    if (other == found.gradients.end()) throw std::runtime_error(what + " is missing");
    expect_near(what, {gradient, rounded.gradients.at(name), other->second}, scale(gradient, all),
                limit);
  }
}

}  // namespace

std::vector<StepResults> first_steps(models::Step& step) {
  std::vector<StepResults> all(kComparedSteps);
  for (auto& one : all) {
    step.run([&](models::Phase phase) {
      if (phase != models::Phase::kBackward) return;
      one.gradients.clear();
      for (const auto& parameter : step.workload().module().named_parameters()) {
        if (const at::Tensor& gradient = parameter.value().grad(); gradient.defined())
          one.gradients.emplace(parameter.key(), sampled(gradient));
      }
      if (step.options().precision != fixtures::Precision::kFp16) return;
      // Scaled gradients overflow in the first steps.
      for (auto& [name, gradient] : one.gradients) gradient.nan_to_num_(0, 0, 0);
    });
    one.result = copied(step.result());
  }
  return all;
}

void round_weights(models::Step& step) {
  const at::NoGradGuard no_grad;
  // Draws nothing from LibTorch's default generator, which dropout uses.
  auto generator = at::make_generator<at::CPUGeneratorImpl>();
  const double share = change(step.options().precision);
  for (auto& parameter : step.workload().module().parameters()) {
    const at::Tensor changes = at::rand(parameter.sizes(), generator, at::TensorOptions());
    parameter.mul_(changes.ge(0.5).mul(share).add(1).to(parameter.device()));
  }
}

void expect_same_results(const std::vector<StepResults>& expected,
                         const std::vector<StepResults>& rounded,
                         const std::vector<StepResults>& found, fixtures::Precision precision) {
  const double change = largest_change(expected, rounded);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expect_near("in step " + std::to_string(i + 1) + " the ", expected[i], rounded[i], found[i],
                change, tolerance(precision));
  }
}

}  // namespace fathom::benchmarks
