#include "ops/kernels/detection/nms.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/zeros.h>

#include <stdexcept>

#include "ops/core/op.h"
#include "ops/core/random_inputs.h"

namespace fathom::ops {
namespace {

constexpr double kRounding = 1e-5;  // of an overlap in fp32

struct NmsShape {
  int64_t boxes;
  double max_overlap;

  void visit(Fields& fields) {
    fields.extent("boxes", boxes);
    fields.share("max_overlap", max_overlap);
  }
};

/// The intersection over the union of each of a [K, 4] with each of b [M, 4]: [K, M].
at::Tensor overlaps(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor one = a.unsqueeze(1);
  const at::Tensor other = b.unsqueeze(0);
  const at::Tensor extent = (at::minimum(one.slice(2, 2), other.slice(2, 2)) -
                             at::maximum(one.slice(2, 0, 2), other.slice(2, 0, 2)))
                                .clamp_min(0);
  const auto areas = [](const at::Tensor& boxes) {
    return (boxes.slice(2, 2) - boxes.slice(2, 0, 2)).prod(2);
  };
  const at::Tensor common = extent.prod(2);
  return common / (areas(one) + areas(other) - common);
}

/// Non-maximum suppression: {boxes [M, 4], scores [M]} gives {numbers of the kept boxes, int64}.
class Nms final : public Op {
 public:
  Nms(const NmsShape& shape, Pass /*pass*/) : shape_(shape) {}

  /// How many boxes are kept depends on the data; all are counted.
  Cost cost(fixtures::Precision precision) const override {
    const auto boxes = static_cast<double>(shape_.boxes);
    return {.flops = 0, .bytes = (5 * element_bytes(precision) + kIndexBytes) * boxes};
  }

  /// Boxes in an image of 800 x 608, between 64 and 512 wide and high.
  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    const Sizes columns{shape_.boxes, 1};
    const at::Tensor corner =
        at::cat({draws.uniform(columns, 0, 800), draws.uniform(columns, 0, 608)}, 1);
    const at::Tensor extent = draws.uniform({shape_.boxes, 2}, 6, 9).exp2_();
    return {at::cat({corner, corner + extent}, 1), draws.normal({shape_.boxes})};
  }

  Call call(const Tensors& in) const override { return call_of(composed_nms, in); }

  Call native(const Tensors& in) const override { return call_of(nms, in); }

  Backend backend_in_steps(fixtures::Device /*device*/) const override { return Backend::kNative; }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kNative}; }

  /// Rounding may decide overlaps near the limit either way, and later ones depend on that. So this
  /// checks what makes a result right: the order, no overlaps above the limit between kept boxes,
  /// and for each other box a kept one before it that overlaps.
  void check(const Tensors& inputs, const Tensors& outputs, fixtures::Precision /*precision*/,
             const Call& /*reference*/) const override {
    const auto on_cpu = at::TensorOptions(at::kDouble).device(at::kCPU);
    const at::Tensor kept = outputs[0].to(at::kCPU);
    if (kept.scalar_type() != at::kLong || kept.dim() != 1)
      throw std::runtime_error("the result is not a list of indices");
    if (kept.lt(0).logical_or(kept.ge(shape_.boxes)).any().item<bool>())
      throw std::runtime_error("an index is outside the boxes");
    // The place of every box in the order.
    const at::Tensor place = inputs[1].to(on_cpu).argsort(true, 0, true).argsort();
    const at::Tensor places = place.index_select(0, kept);
    if (places.diff().le(0).any().item<bool>())
      throw std::runtime_error("the indices are not in the order of falling scores");
    const at::Tensor boxes = inputs[0].to(on_cpu);
    const at::Tensor explained = at::zeros({shape_.boxes}, at::kBool).index_fill_(0, kept, true);
    constexpr int64_t kBlock = 256;  // kept boxes at once: each has an overlap with every box
    for (int64_t first = 0; first < kept.size(0); first += kBlock) {
      const auto block = [&](const at::Tensor& all) { return all.slice(0, first, first + kBlock); };
      const at::Tensor overlap = overlaps(boxes.index_select(0, block(kept)), boxes);
      const at::Tensor before = block(places).unsqueeze(1).lt(place.unsqueeze(0));
      const at::Tensor beyond = overlap.gt(shape_.max_overlap + kRounding).logical_and(before);
      if (beyond.index_select(1, kept).any().item<bool>())
        throw std::runtime_error("two kept boxes overlap by more than the limit");
      explained.logical_or_(overlap.gt(shape_.max_overlap - kRounding).logical_and(before).any(0));
    }
    if (!explained.all().item<bool>())
      throw std::runtime_error("a box is missing that no kept box overlaps by the limit");
  }

 private:
  Call call_of(decltype(&nms) suppress, const Tensors& in) const {
    return [=, boxes = in[0], scores = in[1], most = shape_.max_overlap]() -> Tensors {
      return {suppress(boxes, scores, most)};
    };
  }

  NmsShape shape_;
};

/// The scope's arguments are {boxes [M, 4], scores [M], max_overlap}.
std::vector<MatchedOp> match_nms(const ObservedCall& call) {
  if (call.arguments.size() != 3 || call.arguments[0].toTensor().numel() == 0) return {};
  return {matched(Pass::kForward, NmsShape{.boxes = call.arguments[0].toTensor().size(0),
                                           .max_overlap = call.arguments[2].toDouble()})};
}

}  // namespace

OpType nms_type() {
  return {
      .name = "nms",
      .op_class = OpClass::kReduction,
      .passes = {Pass::kForward},
      .examples = {R"({"boxes": 300, "max_overlap": 0.3})", R"({"boxes": 1, "max_overlap": 0.7})"},
      .fields = fields_of<NmsShape>,
      .make = make_op<Nms, NmsShape>,
      .match = match_nms};
}

}  // namespace fathom::ops
