#include "ops/kernels/detection/roi_align.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "ops/core/autograd/gradient_call.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/reduction/image_sizes.h"

namespace fathom::ops {
namespace {

struct RoiAlignFields {
  Sizes sizes;  ///< of the features, [N, C, H, W]
  int64_t regions;
  Pair output;
  double scale;
  int64_t samples;

  void visit(Fields& fields) {
    visit_image_sizes(fields, sizes);
    fields.extent("regions", regions);
    fields.pair("output", output, 1);
    fields.number("scale", scale);
    fields.extent("samples", samples);
    fields.require(scale > 0, "\"scale\" is not above 0");
  }
};

/// Forward: {features [N, C, H, W], regions [R, 5]} gives {y [R, C, height, width]}. Backward:
/// {features, regions, g}, with g of the shape of y, gives {dfeatures}.
class RoiAlign final : public Op {
 public:
  RoiAlign(RoiAlignFields shape, Pass pass) : shape_(std::move(shape)), pass_(pass) {}

  /// The gradient does not read the features.
  Cost cost(fixtures::Precision precision) const override {
    const double regions = 5 * static_cast<double>(shape_.regions);
    return {.flops = 0,
            .bytes = element_bytes(precision) *
                     (elements(shape_.sizes) + regions + elements(output_sizes()))};
  }

  /// Regions lie in the image and are between a tenth and two fifths of it high and wide.
  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    const at::Tensor features = draws.normal(shape_.sizes);
    const at::Tensor image = draws.integers({shape_.regions, 1}, 0, shape_.sizes[0]).to(at::kFloat);
    const at::Tensor corner = draws.uniform({shape_.regions, 2}, 0, 0.6);
    const at::Tensor corners =
        at::cat({corner, corner + draws.uniform(corner.sizes(), 0.1, 0.4)}, 1);
    for (const int64_t i : {0, 1, 2, 3}) {
      const auto extent = static_cast<double>(shape_.sizes[i % 2 == 0 ? 3 : 2]);
      corners.select(1, i).mul_(extent / shape_.scale);
    }
    Tensors made{features, at::cat({image, corners}, 1)};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(output_sizes()));
    return made;
  }

  Call call(const Tensors& in) const override { return call_of(composed_roi_align, in); }

  Call native(const Tensors& in) const override { return call_of(roi_align, in); }

  Backend backend_in_steps(fixtures::Device /*device*/) const override { return Backend::kNative; }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kNative}; }

  /// Regions that share a pixel add to its gradient.
  double tolerance_factor(fixtures::Precision /*precision*/) const override {
    return pass_ == Pass::kBackward ? 4 : 1;
  }

 private:
  Sizes output_sizes() const {
    return {shape_.regions, shape_.sizes[1], shape_.output[0], shape_.output[1]};
  }

  Call call_of(decltype(&roi_align) align, const Tensors& in) const {
    const RoiAlignOptions options{.height = shape_.output[0],
                                  .width = shape_.output[1],
                                  .scale = shape_.scale,
                                  .samples = shape_.samples};
    const auto forward = [=, regions = in[1]](const Tensors& leaves) -> Tensors {
      return {align(leaves[0], regions, options)};
    };
    if (pass_ == Pass::kForward) return [=, x = in[0]] { return forward({x}); };
    return gradient_call(forward, {in[0]}, {in[2]});
  }

  RoiAlignFields shape_;
  Pass pass_;
};

/// The scope's arguments are {features, regions, height, width, scale, samples}.
std::vector<MatchedOp> match_roi_align(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  if (arguments.size() != 6 || !is_plain(arguments[0]) || arguments[1].toTensor().numel() == 0)
    return {};
  return {
      matched(Pass::kForward, RoiAlignFields{.sizes = arguments[0].toTensor().sizes().vec(),
                                             .regions = arguments[1].toTensor().size(0),
                                             .output = {arguments[2].toInt(), arguments[3].toInt()},
                                             .scale = arguments[4].toDouble(),
                                             .samples = arguments[5].toInt()})};
}

}  // namespace

OpType roi_align_type() {
  return {
      .name = "roi_align",
      .op_class = OpClass::kReduction,
      .passes = {Pass::kForward, Pass::kBackward},
      .examples =
          {R"({"sizes": [1, 5, 9, 7], "regions": 6, "output": [3, 2], "scale": 0.0625, "samples": 2})",
           R"({"sizes": [2, 33, 5, 8], "regions": 3, "output": [1, 4], "scale": 0.5, "samples": 1})"},
      .fields = fields_of<RoiAlignFields>,
      .make = make_op<RoiAlign, RoiAlignFields>,
      .match = match_roi_align};
}

}  // namespace fathom::ops
