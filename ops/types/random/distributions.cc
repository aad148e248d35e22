// Draws that fill a tensor, from LibTorch's own generator of the device.
#include <ATen/TensorOperators.h>

#include <array>
#include <stdexcept>
#include <utility>

#include "ops/core/moments.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/movement/match_fill.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

struct Rule {
  std::string_view name;
  void (*fill)(const at::Tensor& x);
  Moments moments;
  double low;
  double high;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::array kRules{
    Rule{"normal",
         [](const at::Tensor& x) { x.normal_(); },
         {.mean = 0, .variance = 1, .kurtosis = 3},
         -kInfinity,
         kInfinity},
    Rule{"uniform",
         [](const at::Tensor& x) { x.uniform_(); },
         {.mean = 0.5, .variance = 1.0 / 12, .kurtosis = 1.8},
         0,
         1},
};

/// Inputs {x}, outputs {x} with other values.
class Random final : public Op {
 public:
  Random(const Rule& rule, std::vector<int64_t> sizes) : rule_(rule), sizes_(std::move(sizes)) {}

  Cost cost(fixtures::Precision precision) const override {
    return {.flops = 0, .bytes = element_bytes(precision) * elements(sizes_)};
  }

  Tensors inputs(uint64_t seed) const override { return {Draws(seed).uniform(sizes_, 2, 3)}; }

  Call call(const Tensors& in) const override {
    return [fill = rule_.fill, x = in[0]]() -> Tensors {
      fill(x);
      return {x};
    };
  }

  bool in_place() const override { return true; }

  void check(const Tensors& /*inputs*/, const Tensors& outputs, fixtures::Precision /*precision*/,
             const Call& /*reference*/) const override {
    const at::Tensor drawn = outputs[0].to(at::kCPU);
    if (drawn.sizes() != sizes_) throw std::runtime_error("the draws have another shape");
    expect_moments(drawn, rule_.moments);
    // All of it: the moments of a large tensor would not show a few.
    if (!drawn.ge(rule_.low).logical_and(drawn.le(rule_.high)).all().item<bool>())
      throw std::runtime_error("a draw is outside the distribution");
  }

 private:
  const Rule& rule_;
  std::vector<int64_t> sizes_;
};

}  // namespace

std::vector<OpType> random_types() {
  std::vector<OpType> types;
  for (const Rule& rule : kRules) {
    types.push_back({rule.name,
                     {Pass::kForward},
                     [&rule](Fields& fields, Pass /*pass*/) {
                       return std::make_unique<Random>(rule, fields.sizes("sizes"));
                     },
                     [&rule](const Seen& seen) { return recognise_factory(rule.name, seen); }});
  }
  return types;
}

}  // namespace fathom::ops
