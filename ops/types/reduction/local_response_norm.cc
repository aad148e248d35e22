#include "ops/kernels/local_response_norm.h"

#include "ops/core/buffer.h"
#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/reduction/image_sizes.h"

namespace fathom::ops {
namespace {

struct LocalResponseNormShape {
  Sizes sizes;  ///< [N, C, H, W]
  LocalResponseNormOptions norm;

  void visit(Fields& fields) {
    visit_image_sizes(fields, sizes);
    fields.extent("size", norm.size);
    fields.number("alpha", norm.alpha);
    fields.number("beta", norm.beta);
    fields.number("bias", norm.bias);
    // Over one channel, oneDNN 3.2's gradient crashes.
    fields.require(norm.size % 2 == 1 && norm.size > 1,
                   "\"size\" is " + std::to_string(norm.size) + ", expected an odd number from 3");
  }
};

/// Local response normalization: {x} gives {y}.
std::unique_ptr<Op> make_local_response_norm(Fields& fields, Pass pass) {
  const auto [sizes, norm] = read_shape<LocalResponseNormShape>(fields);
  const double count = elements(sizes);
  return make_composite(
      {.inputs = [sizes = sizes](RandomInputs& draws) -> Tensors { return {draws.normal(sizes)}; },
       .with_gradient = 1,
       .forward = [norm = norm](const Tensors& in) -> Tensors {
         return {composed_local_response_norm(in[0], norm)};
       },
       .outputs = 1,
       .macs = 0,
       .read = count,
       .written = count,
       .gradients = count,
       .native = [norm = norm](const Tensors& in) -> Tensors {
         return {local_response_norm(in[0], norm)};
       },
       .native_in_steps = {fixtures::Device::kCpu, fixtures::Device::kCuda},
       .problem =
           [norm = norm](const Tensors& in, const Tensors& out) {
             ResponseNormProblem problem{.x = buffer(in[0]),
                                         .y = buffer(out[0]),
                                         .size = norm.size,
                                         .alpha = norm.alpha,
                                         .beta = norm.beta,
                                         .bias = norm.bias};
             if (in.size() > 1) {
               problem.y = buffer(in[1]);
               problem.dx = buffer(out[0]);
             }
             return problem;
           },
       .vendors = {Backend::kOneDnn, Backend::kCudnn}},
      pass);
}

/// The scope's arguments are {x [N, C, H, W], size, alpha, beta, bias}.
std::vector<MatchedOp> match_local_response_norm(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  if (arguments.size() != 5) return {};
  return {
      matched(Pass::kForward, LocalResponseNormShape{.sizes = arguments[0].toTensor().sizes().vec(),
                                                     .norm = {.size = arguments[1].toInt(),
                                                              .alpha = arguments[2].toDouble(),
                                                              .beta = arguments[3].toDouble(),
                                                              .bias = arguments[4].toDouble()}})};
}

}  // namespace

OpType local_response_norm_type() {
  return {
      .name = "local_response_norm",
      .op_class = OpClass::kReduction,
      .passes = {Pass::kForward, Pass::kBackward},
      .examples = {R"({"sizes": [2, 7, 3, 5], "size": 5, "alpha": 0.5, "beta": 0.75, "bias": 2})"},
      .fields = fields_of<LocalResponseNormShape>,
      .make = make_local_response_norm,
      .match = match_local_response_norm};
}

}  // namespace fathom::ops
