#include "ops/kernels/sampled_softmax.h"

#include <ATen/core/ivalue.h>

#include <algorithm>

#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct SampledSoftmaxShape {
  int64_t positions;
  int64_t n;
  int64_t width;
  int64_t classes;
  int64_t candidates;

  void visit(Fields& fields) {
    fields.extent("positions", positions);
    fields.extent("n", n);
    fields.extent("width", width);
    fields.extent("classes", classes);
    fields.extent("candidates", candidates);
    fields.require(candidates <= classes, "\"candidates\" are more than \"classes\"");
  }
};

/// {x, weight, bias, labels, candidates' ids and tries} gives {losses}. Forward reads some rows of
/// `weight` and `bias`, but their gradients are whole tensors.
std::unique_ptr<Op> make_sampled_softmax(Fields& fields, Pass pass) {
  const auto [positions, n, width, classes, count] = read_shape<SampledSoftmaxShape>(fields);
  const auto x = elements({positions, n, width});
  const auto ids = elements({positions, n + count});
  return make_composite(
      {.inputs = [positions = positions, n = n, width = width, classes = classes,
                  count = count](RandomInputs& draws) -> Tensors {
         const Candidates drawn = draw_log_uniform(positions, count, classes, draws.generator());
         return {draws.normal({positions, n, width}),
                 draws.weight({classes, width}, width),
                 draws.normal({classes}, 0.1),
                 draws.words({positions, n}, classes),
                 drawn.ids,
                 drawn.tries};
       },
       .with_gradient = 3,
       .forward = [](const Tensors& in) -> Tensors {
         return {sampled_softmax(in[0], in[1], in[2], in[3], {.ids = in[4], .tries = in[5]})};
       },
       .outputs = 1,
       .macs = x* static_cast<double>(1 + count),
       .read = x + ids* static_cast<double>(width + 1) + static_cast<double>(positions),
       .written = elements({positions, n}),
       .gradients = x + static_cast<double>(classes) * static_cast<double>(width + 1),
       .tolerance_factor = 16,  // gradients of frequent words are summed in the tensor's type
       .integers = ids,
       .untouched =
           std::max(static_cast<double>(classes) - ids, 0.0) * static_cast<double>(width + 1)},
      pass);
}

/// The scope's arguments are {x [T, N, H], weight [V, H], candidates' ids [T, S]}.
std::vector<MatchedOp> match_sampled_softmax(const ObservedCall& call) {
  if (call.arguments.size() != 3) return {};
  const at::Tensor& x = call.arguments[0].toTensor();
  return {matched(Pass::kForward,
                  SampledSoftmaxShape{.positions = x.size(0),
                                      .n = x.size(1),
                                      .width = x.size(2),
                                      .classes = call.arguments[1].toTensor().size(0),
                                      .candidates = call.arguments[2].toTensor().size(1)})};
}

}  // namespace

OpType sampled_softmax_type() {
  return {.name = "sampled_softmax",
          .op_class = OpClass::kMatrix,
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"positions": 2, "n": 3, "width": 4, "classes": 23, "candidates": 5})"},
          .fields = fields_of<SampledSoftmaxShape>,
          .make = make_sampled_softmax,
          .match = match_sampled_softmax};
}

}  // namespace fathom::ops
