#include <ATen/ops/group_norm.h>
#include <ATen/ops/native_group_norm.h>
#include <ATen/ops/native_group_norm_backward.h>
#include <c10/util/accumulate.h>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/reduction/composed_norm.h"

namespace fathom::ops {
namespace {

constexpr double kEpsilon = 1e-5;

struct GroupNormShape {
  Sizes sizes;  ///< [N, C, ...]
  int64_t groups;

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.extent("groups", groups);
    fields.require(sizes.size() > 1, "\"sizes\" is one extent, expected [N, C, ...]");
    fields.require(sizes.size() < 2 || sizes[1] % groups == 0,
                   "\"groups\" does not divide the channels");
  }
};

/// Group normalization: with the mean and variance of each group of channels of a sample. Forward:
/// {x [N, C, ...], weight [C], bias [C]} gives {y}. Backward: {x, weight, bias, g}, with g of the
/// shape of x, gives {dx, dweight, dbias}. Of vendors, only oneDNN has it. oneDNN's gradient has
/// no rows: it is wrong in 3.6 and 3.7, and 3.12 has a slow reference implementation.
class GroupNorm final : public Op {
 public:
  GroupNorm(GroupNormShape shape, Pass pass) : shape_(std::move(shape)), pass_(pass) {}

  Cost cost(fixtures::Precision precision) const override {
    const double x = elements(shape_.sizes);
    const auto c = static_cast<double>(shape_.sizes[1]);
    const auto statistics = static_cast<double>(2 * shape_.sizes[0] * shape_.groups);
    // x, weight, bias -> y, mean and deviation; g, x, weight and both -> dx, dweight, dbias.
    const double touched = pass_ == Pass::kForward ? 2 * x + 2 * c : 3 * x + 3 * c;
    return {.flops = 0, .bytes = element_bytes(precision) * (touched + statistics)};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    const int64_t channels = shape_.sizes[1];
    Tensors made{draws.normal(shape_.sizes), draws.normal({channels}, 0.1).add_(1),
                 draws.normal({channels}, 0.1)};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(shape_.sizes));
    return made;
  }

  Call call(const Tensors& in) const override {
    if (ComposedNorm::applies(in[0])) return [this, in] { return composed(in); };
    const int64_t groups = shape_.groups;
    if (pass_ == Pass::kForward) {
      return [=, x = in[0], weight = in[1], bias = in[2]]() -> Tensors {
        return {at::group_norm(x, groups, weight, bias, kEpsilon)};
      };
    }
    const int64_t n = shape_.sizes[0];
    const int64_t channels = shape_.sizes[1];
    const int64_t plane = in[0].numel() / (n * channels);
    const auto [y, found_mean, found_scale] =
        at::native_group_norm(in[0], in[1], in[2], n, channels, plane, groups, kEpsilon);
    return [=, x = in[0], weight = in[1], g = in[3], mean = found_mean,
            scale = found_scale]() -> Tensors {
      const auto [dx, dweight, dbias] = at::native_group_norm_backward(
          g, x, mean, scale, weight, n, channels, plane, groups, {true, true, true});
      return {dx, dweight, dbias};
    };
  }

  /// Sums over a group and over the samples may nearly cancel.
  double tolerance_factor(fixtures::Precision /*precision*/) const override {
    return pass_ == Pass::kForward ? 1 : 4;
  }

  std::vector<Backend> backends() const override {
    if (pass_ == Pass::kBackward) return {Backend::kTorch};
    return {Backend::kTorch, Backend::kOneDnn};
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    return GroupNormProblem{.x = buffer(in[0]),
                            .weight = buffer(in[1]),
                            .bias = buffer(in[2]),
                            .y = buffer(out[0]),
                            .groups = shape_.groups,
                            .epsilon = kEpsilon};
  }

 private:
  Tensors composed(const Tensors& in) const {
    const int64_t channels = shape_.sizes[1];
    const auto planes = [&](const at::Tensor& tensor) {
      return tensor.reshape({shape_.sizes[0], channels, -1});
    };
    const auto rows = [&](const at::Tensor& tensor) {
      return tensor.reshape({shape_.sizes[0] * shape_.groups, -1});
    };
    const at::Tensor weight = in[1].view({1, channels, 1});
    const ComposedNorm norm(rows(in[0]), kEpsilon);
    const at::Tensor normalized = planes(norm.normalized());
    if (pass_ == Pass::kForward)
      return {(normalized * weight + in[2].view({1, channels, 1})).view(shape_.sizes)};
    const at::Tensor g = planes(in[3]);
    return {norm.gradient(rows(g * weight)).view(shape_.sizes),
            (g * normalized).sum(at::IntArrayRef({0, 2})), g.sum(at::IntArrayRef({0, 2}))};
  }

  GroupNormShape shape_;
  Pass pass_;
};

/// group_norm(x, groups, weight, ...), native_group_norm(x, weight, bias, N, C, plane, groups),
/// native_group_norm_backward(g, x, mean, scale, weight, N, C, plane, groups, ...).
std::vector<MatchedOp> match_group_norm(const ObservedCall& call) {
  struct Signature {
    std::string_view name;
    std::size_t x, weight, groups;  ///< argument numbers
  };
  static constexpr std::array<Signature, 3> signatures{
      {{"aten::group_norm", 0, 2, 1},
       {"aten::native_group_norm", 0, 1, 6},
       {"aten::native_group_norm_backward", 1, 4, 8}}};
  for (const auto& [name, x, weight, groups] : signatures) {
    if (call.name != name) continue;
    if (!given(call.arguments[weight])) return {};
    return {matched(call, GroupNormShape{.sizes = call.arguments[x].toTensor().sizes().vec(),
                                         .groups = call.arguments[groups].toInt()})};
  }
  return {};
}

}  // namespace

OpType group_norm_type() {
  return {.name = "group_norm",
          .op_class = OpClass::kReduction,
          .aten = {"group_norm", "native_group_norm", "native_group_norm_backward"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"sizes": [2, 6, 5, 7], "groups": 3})",
                       R"({"sizes": [3, 4, 5], "groups": 1})"},
          .fields = fields_of<GroupNormShape>,
          .make = make_op<GroupNorm, GroupNormShape>,
          .match = match_group_norm};
}

}  // namespace fathom::ops
