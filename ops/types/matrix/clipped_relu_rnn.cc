#include "ops/kernels/recurrent/clipped_relu_rnn.h"

#include <ATen/core/ivalue.h>

#include "ops/core/buffer.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct ClippedReluRnnShape {
  int64_t frames;
  int64_t n;
  int64_t width;
  bool reverse;

  void visit(Fields& fields) {
    fields.extent("frames", frames);
    fields.extent("n", n);
    fields.extent("width", width);
    fields.flag("reverse", reverse);
  }
};

/// Forward: {x [T, N, H], recurrent [H, H], frames [N]} gives {h}. Backward: {h, recurrent, g}
/// gives {dx, drecurrent}. h is an input of backward because a state that rounding moves off 0 or
/// 20 has another gradient.
class ClippedReluRnn final : public Op {
 public:
  ClippedReluRnn(const ClippedReluRnnShape& shape, Pass pass)
      : frames_(shape.frames),
        n_(shape.n),
        width_(shape.width),
        direction_(shape.reverse ? Direction::kBackward : Direction::kForward),
        pass_(pass) {}

  /// The first frame has no product. Backward has two products per frame.
  Cost cost(fixtures::Precision precision) const override {
    const bool backward = pass_ == Pass::kBackward;
    const auto states = elements({frames_, n_, width_});
    const auto recurrent = elements({width_, width_});
    const double products = elements({frames_ - 1, n_}) * recurrent;
    const double floats = backward ? 3 * states + 2 * recurrent : 2 * states + recurrent;
    return {.flops = (backward ? 4 : 2) * products,
            .bytes = element_bytes(precision) * floats +
                     (backward ? 0 : kIndexBytes * static_cast<double>(n_)),
            .macs = products};
  }

  /// Utterances have between half and all of the frames.
  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    const at::Tensor x = draws.normal({frames_, n_, width_});
    const at::Tensor recurrent = draws.weight({width_, width_}, width_);
    const at::Tensor frames = draws.integers({n_}, (frames_ + 1) / 2, frames_ + 1);
    if (pass_ == Pass::kForward) return {x, recurrent, frames};
    const at::Tensor h = clipped_relu_rnn(x, recurrent, frames, direction_);
    return {h, recurrent, draws.normal({frames_, n_, width_})};
  }

  Call call(const Tensors& in) const override {
    if (pass_ == Pass::kForward) {
      return [x = in[0], recurrent = in[1], frames = in[2], direction = direction_]() -> Tensors {
        return {clipped_relu_rnn(x, recurrent, frames, direction)};
      };
    }
    return [h = in[0], recurrent = in[1], g = in[2], direction = direction_]() -> Tensors {
      const auto [dx, drecurrent] = clipped_relu_rnn_backward(g, h, recurrent, direction);
      return {dx, drecurrent};
    };
  }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kOneDnn}; }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    const bool forward = pass_ == Pass::kForward;
    ClippedRnnProblem problem{.max = kClip,
                              .reverse = direction_ == Direction::kBackward,
                              .recurrent = buffer(in[1]),
                              .h = buffer(forward ? out[0] : in[0]),
                              .pass = {}};
    if (forward) {
      const auto* frames = in[2].const_data_ptr<int64_t>();
      problem.pass =
          ClippedRnnProblem::Forward{.x = buffer(in[0]), .frames = {frames, frames + n_}};
    } else {
      problem.pass = ClippedRnnProblem::Backward{
          .g = buffer(in[2]), .dx = buffer(out[0]), .drecurrent = buffer(out[1])};
    }
    return problem;
  }

  /// Rounding errors accumulate from frame to frame.
  double tolerance_factor(fixtures::Precision /*precision*/) const override { return 4; }

 private:
  int64_t frames_;
  int64_t n_;
  int64_t width_;
  Direction direction_;
  Pass pass_;
};

/// The scope's arguments are {x [T, N, H], whether the recurrence runs in reverse}.
std::vector<MatchedOp> match_clipped_relu_rnn(const ObservedCall& call) {
  if (call.arguments.size() != 2) return {};
  const at::Tensor& x = call.arguments[0].toTensor();
  return {matched(Pass::kForward, ClippedReluRnnShape{.frames = x.size(0),
                                                      .n = x.size(1),
                                                      .width = x.size(2),
                                                      .reverse = call.arguments[1].toBool()})};
}

}  // namespace

OpType clipped_relu_rnn_type() {
  return {.name = "clipped_relu_rnn",
          .op_class = OpClass::kMatrix,
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"frames": 7, "n": 3, "width": 5})",
                       R"({"frames": 5, "n": 2, "width": 4, "reverse": true})",
                       R"({"frames": 1, "n": 2, "width": 3})"},
          .fields = fields_of<ClippedReluRnnShape>,
          .make = make_op<ClippedReluRnn, ClippedReluRnnShape>,
          .match = match_clipped_relu_rnn};
}

}  // namespace fathom::ops
