#include <ATen/ops/_batch_norm_impl_index.h>
#include <ATen/ops/_batch_norm_impl_index_backward.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>

#include "ops/core/buffer.h"
#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

constexpr double kMomentum = 0.1;  // LibTorch's default
constexpr double kEpsilon = 1e-5;

struct BatchNormShape {
  Sizes sizes;   ///< [N, C, ...]
  bool running;  ///< with running statistics, as in inference, instead of the batch's

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.flag("running", running);
    fields.require(sizes.size() > 1, "\"sizes\" is one extent, expected [N, C, ...]");
  }
};

/// Batch normalization with the mean and variance of each channel. In training they are the
/// batch's; their running averages are updated, but are not an output. With `running` they are
/// inputs, as in inference. Forward: {x [N, C, ...], weight [C], bias [C]} gives {y}; with
/// `running`, {mean [C], variance [C]} follow. Backward: these and g, of the shape of x, give {dx,
/// dweight, dbias}.
class BatchNorm final : public Op {
 public:
  BatchNorm(BatchNormShape shape, Pass pass) : shape_(std::move(shape)), pass_(pass) {}

  Cost cost(fixtures::Precision precision) const override {
    const auto x = elements(shape_.sizes);
    const auto c = static_cast<double>(shape_.sizes[1]);
    // Forward: x, weight, bias, mean and variance -> y. In training, the batch's mean and variance
    // are written, the running ones are read and written.
    // Backward: g, x, weight, mean and variance -> dx, dweight, dbias.
    const double forward = 2 * x + (shape_.running ? 4 : 8) * c;
    const double elements = pass_ == Pass::kForward ? forward : 3 * x + 5 * c;
    return {.flops = 0, .bytes = element_bytes(precision) * elements};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    const Sizes channels{shape_.sizes[1]};
    Tensors made{draws.normal(shape_.sizes), draws.normal(channels, 0.1).add_(1),
                 draws.normal(channels, 0.1)};
    if (shape_.running) {
      made.push_back(draws.normal(channels, 0.1));
      made.push_back(draws.uniform(channels, 0.5, 2));
    }
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(shape_.sizes));
    return made;
  }

  Call call(const Tensors& in) const override {
    const bool training = !shape_.running;
    const Sizes channels{shape_.sizes[1]};
    const at::Tensor mean = training ? at::zeros(channels, in[1].options()) : in[3];
    const at::Tensor variance = training ? at::ones(channels, in[1].options()) : in[4];
    if (pass_ == Pass::kForward) {
      return [=, x = in[0], weight = in[1], bias = in[2]]() -> Tensors {
        return {at::batch_norm(x, weight, bias, mean, variance, training, kMomentum, kEpsilon,
                               /*cudnn_enabled=*/true)};
      };
    }
    // The choice of at::batch_norm: cuDNN where it can.
    const auto [y, batch_mean, scale, reserve, implementation] = at::_batch_norm_impl_index(
        in[0], in[1], in[2], mean, variance, training, kMomentum, kEpsilon, /*cudnn_enabled=*/true);
    return [=, x = in[0], weight = in[1], g = in.back(), kept_mean = batch_mean, kept_scale = scale,
            kept = reserve, chosen = implementation]() -> Tensors {
      const auto [dx, dweight, dbias] = at::_batch_norm_impl_index_backward(
          chosen, x, g, weight, mean, variance, kept_mean, kept_scale, training, kEpsilon,
          {true, true, true}, kept);
      return {dx, dweight, dbias};
    };
  }

  std::vector<Backend> backends() const override {
    // cuDNN computes gradients with the statistics of the batch only.
    if (shape_.running && pass_ == Pass::kBackward) return {Backend::kTorch, Backend::kOneDnn};
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCudnn};
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    BatchNormProblem problem{.x = buffer(in[0]),
                             .weight = buffer(in[1]),
                             .bias = buffer(in[2]),
                             .y = buffer(out[0]),
                             .epsilon = kEpsilon};
    if (shape_.running) problem.statistics = {.mean = buffer(in[3]), .variance = buffer(in[4])};
    if (pass_ == Pass::kBackward) {
      problem.y = buffer(in.back());
      problem.gradients = {.x = buffer(out[0]), .weight = buffer(out[1]), .bias = buffer(out[2])};
    }
    return problem;
  }

 private:
  BatchNormShape shape_;
  Pass pass_;
};

std::vector<MatchedOp> match_batch_norm(const ObservedCall& call) {
  struct Signature {
    std::string_view name;
    Pass pass;
    std::size_t x, weight, training;  ///< argument numbers; training 0: the call always trains
  };
  static constexpr std::array<Signature, 5> signatures{
      {{"aten::batch_norm", Pass::kForward, 0, 1, 5},
       {"aten::native_batch_norm", Pass::kForward, 0, 1, 5},
       {"aten::cudnn_batch_norm", Pass::kForward, 0, 1, 5},
       {"aten::native_batch_norm_backward", Pass::kBackward, 1, 2, 7},
       {"aten::cudnn_batch_norm_backward", Pass::kBackward, 0, 2, 0}}};
  for (const auto& [name, pass, x, weight, training] : signatures) {
    if (call.name != name) continue;
    if (!given(call.arguments[weight])) return {};
    return {matched(pass,
                    BatchNormShape{.sizes = call.arguments[x].toTensor().sizes().vec(),
                                   .running = training > 0 && !call.arguments[training].toBool()})};
  }
  return {};
}

}  // namespace

OpType batch_norm_type() {
  return {.name = "batch_norm",
          .op_class = OpClass::kReduction,
          .aten = {"batch_norm", "native_batch_norm", "native_batch_norm_backward",
                   "cudnn_batch_norm", "cudnn_batch_norm_backward"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"sizes": [2, 3, 5, 7]})", R"({"sizes": [11, 4]})",
                       R"({"sizes": [2, 3, 5, 7], "running": true})"},
          .fields = fields_of<BatchNormShape>,
          .make = make_op<BatchNorm, BatchNormShape>,
          .match = match_batch_norm};
}

}  // namespace fathom::ops
