// Random ops that fill a tensor from LibTorch's generator of the device.
#include <ATen/TensorOperators.h>

#include <array>
#include <stdexcept>
#include <utility>

#include "ops/core/match_fill.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/random/moments.h"

namespace fathom::ops {
namespace {

struct Distribution {
  std::string_view name;
  std::vector<std::string_view> aten;
  void (*fill)(const at::Tensor& x);
  Moments moments;
  double low;
  double high;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const std::array kDistributions{
    Distribution{"normal",
                 {"normal_", "randn_like", "randn"},
                 [](const at::Tensor& x) { x.normal_(); },
                 {.mean = 0, .variance = 1, .kurtosis = 3},
                 -kInfinity,
                 kInfinity},
    Distribution{"uniform",
                 {"uniform_"},
                 [](const at::Tensor& x) { x.uniform_(); },
                 {.mean = 0.5, .variance = 1.0 / 12, .kurtosis = 1.8},
                 0,
                 1},
};

/// Inputs {x}, outputs {x, filled with random values}.
class Random final : public Op {
 public:
  Random(const Distribution& distribution, FillShape shape, Pass /*pass*/)
      : distribution_(distribution), sizes_(std::move(shape.sizes)) {}

  Cost cost(fixtures::Precision precision) const override {
    return {.flops = 0, .bytes = element_bytes(precision) * elements(sizes_)};
  }

  Tensors inputs(uint64_t seed) const override {
    return {RandomInputs(seed).uniform(sizes_, 2, 3)};
  }

  Call call(const Tensors& in) const override {
    return [fill = distribution_.fill, x = in[0]]() -> Tensors {
      fill(x);
      return {x};
    };
  }

  bool in_place() const override { return true; }

  void check(const Tensors& /*inputs*/, const Tensors& outputs, fixtures::Precision /*precision*/,
             const Call& /*reference*/) const override {
    const at::Tensor drawn = outputs[0].to(at::kCPU);
    if (drawn.sizes() != sizes_)
      throw std::runtime_error("the result has another shape than the input");
    expect_moments(drawn, distribution_.moments);
    // Checks every element: a few wrong ones would not change the moments of a large tensor.
    if (!drawn.ge(distribution_.low).logical_and(drawn.le(distribution_.high)).all().item<bool>())
      throw std::runtime_error("an element is outside the range of the distribution");
  }

 private:
  const Distribution& distribution_;
  Sizes sizes_;
};

}  // namespace

std::vector<OpType> distribution_types() {
  std::vector<OpType> types;
  for (const Distribution& one : kDistributions) {
    types.push_back({.name = one.name,
                     .op_class = OpClass::kRandom,
                     .aten = one.aten,
                     .passes = {Pass::kForward},
                     .examples = {R"({"sizes": [101, 97]})", R"({"sizes": [3]})"},
                     .fields = fields_of<FillShape>,
                     .make = make_member<Random>(one, FillShape{}),
                     .match = match_fill});
  }
  return types;
}

}  // namespace fathom::ops
