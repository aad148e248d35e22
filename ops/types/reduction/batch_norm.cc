#include <ATen/ops/_batch_norm_impl_index.h>
#include <ATen/ops/_batch_norm_impl_index_backward.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/random_inputs.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

constexpr double kMomentum = 0.1;  // LibTorch's own
constexpr double kEpsilon = 1e-5;

/// Training's: by the batch's own mean and variance over all but the channels. {x [N, C, ...],
/// weight [C], bias [C]} gives {y}; {x, weight, bias, g} with g like x gives {dx, dweight, dbias}.
/// Running statistics are written too, and are no output.
class BatchNorm final : public Op {
 public:
  BatchNorm(std::vector<int64_t> sizes, Pass pass) : sizes_(std::move(sizes)), pass_(pass) {}

  Cost cost(fixtures::Precision precision) const override {
    const auto x = static_cast<double>(c10::multiply_integers(sizes_));
    const auto c = static_cast<double>(sizes_[1]);
    // x, weight, bias -> y, the batch's and the running mean and variance; g, x, weight, mean and
    // variance -> dx, dweight, dbias.
    const double elements = pass_ == Pass::kForward ? 2 * x + 8 * c : 3 * x + 5 * c;
    return {.flops = 0, .bytes = element_bytes(precision) * elements};
  }

  Tensors inputs(uint64_t seed) const override {
    Draws draws(seed);
    Tensors made{draws.normal(sizes_), draws.normal({sizes_[1]}, 0.1).add_(1),
                 draws.normal({sizes_[1]}, 0.1)};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(sizes_));
    return made;
  }

  Call call(const Tensors& in) const override {
    const at::Tensor mean = at::zeros({sizes_[1]}, in[1].options());
    const at::Tensor variance = at::ones({sizes_[1]}, in[1].options());
    if (pass_ == Pass::kForward) {
      return [=, x = in[0], weight = in[1], bias = in[2]]() -> Tensors {
        return {at::batch_norm(x, weight, bias, mean, variance, /*training=*/true, kMomentum,
                               kEpsilon, /*cudnn_enabled=*/true)};
      };
    }
    // As at::batch_norm does it: by cuDNN where it can.
    const auto [y, batch_mean, scale, reserve, way] =
        at::_batch_norm_impl_index(in[0], in[1], in[2], mean, variance, /*training=*/true,
                                   kMomentum, kEpsilon, /*cudnn_enabled=*/true);
    return [x = in[0], weight = in[1], g = in[3], mean, variance, kept_mean = batch_mean,
            kept_scale = scale, kept = reserve, chosen = way]() -> Tensors {
      const auto [dx, dweight, dbias] = at::_batch_norm_impl_index_backward(
          chosen, x, g, weight, mean, variance, kept_mean, kept_scale, /*train=*/true, kEpsilon,
          {true, true, true}, kept);
      return {dx, dweight, dbias};
    };
  }

  std::vector<Backend> backends() const override {
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    BatchNormProblem problem{.x = buffer(in[0]),
                             .weight = buffer(in[1]),
                             .bias = buffer(in[2]),
                             .y = buffer(out[0]),
                             .epsilon = kEpsilon};
    if (pass_ == Pass::kBackward) {
      problem.y = buffer(in[3]);
      problem.gradients = {.x = buffer(out[0]), .weight = buffer(out[1]), .bias = buffer(out[2])};
    }
    return problem;
  }

 private:
  std::vector<int64_t> sizes_;
  Pass pass_;
};

}  // namespace

std::unique_ptr<Op> make_batch_norm(Fields& fields, Pass pass) {
  auto sizes = fields.sizes("sizes");
  if (sizes.size() < 2) fields.fail("\"sizes\" is one extent, expected [N, C, ...]");
  return std::make_unique<BatchNorm>(std::move(sizes), pass);
}

std::vector<SeenOp> recognise_batch_norm(const Seen& seen) {
  struct Name {
    std::string_view name;
    Pass pass;
    std::size_t x, weight, training;  ///< where they stand among the arguments
  };
  static constexpr std::array<Name, 5> names{
      {{"aten::batch_norm", Pass::kForward, 0, 1, 5},
       {"aten::native_batch_norm", Pass::kForward, 0, 1, 5},
       {"aten::cudnn_batch_norm", Pass::kForward, 0, 1, 5},
       {"aten::native_batch_norm_backward", Pass::kBackward, 1, 2, 7},
       {"aten::cudnn_batch_norm_backward", Pass::kBackward, 0, 2, 0}}};
  for (const auto& [name, pass, x, weight, training] : names) {
    if (seen.name != name) continue;
    if (!given(seen.arguments[weight])) return {};
    if (training > 0 && !seen.arguments[training].toBool()) return {};  // by running statistics
    return {{pass, {{"sizes", seen.arguments[x].toTensor().sizes().vec()}}}};
  }
  return {};
}

}  // namespace fathom::ops
