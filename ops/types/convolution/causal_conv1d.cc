#include "ops/kernels/sequence/causal_conv1d.h"

#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct CausalConv1dShape {
  int64_t batch;
  int64_t positions;  ///< of x
  int64_t channels;
  int64_t kernel;
  bool history;  ///< the first kernel - 1 positions only come before the others

  void visit(Fields& fields) {
    fields.extent("batch", batch);
    fields.extent("positions", positions);
    fields.extent("channels", channels);
    fields.extent("kernel", kernel);
    fields.flag("history", history);
    fields.require(!history || positions >= kernel,
                   "\"positions\" are fewer than \"kernel\", which a \"history\" needs");
  }
};

/// {x [batch, positions, channels], weight [channels, kernel], bias [channels]} gives {y}.
std::unique_ptr<Op> make_causal_conv1d(Fields& fields, Pass pass) {
  const auto [batch, positions, channels, kernel, history] = read_shape<CausalConv1dShape>(fields);
  const Sizes sizes{batch, positions, channels};
  const double x = elements(sizes);
  const double y = elements({batch, history ? positions - kernel + 1 : positions, channels});
  const double weights = elements({channels, kernel + 1});
  // LibTorch's way computes the positions that it cuts off, too.
  const double computed = elements({batch, positions + (history ? 1 - kernel : kernel - 1)});
  const auto given = [history = history](const Tensors& in) {
    return CausalConvolution{.x = in[0], .weight = in[1], .bias = in[2], .has_history = history};
  };
  return make_composite(
      {.inputs = [=, channels = channels, kernel = kernel](RandomInputs& draws) -> Tensors {
         return {draws.normal(sizes), draws.weight({channels, kernel}, kernel),
                 draws.normal({channels}, 0.1)};
       },
       .with_gradient = 3,
       .forward = [given](const Tensors& in) -> Tensors { return {causal_conv1d(given(in))}; },
       .outputs = 1,
       .macs = computed* elements({channels, kernel}),
       .read = x + weights,
       .written = y,
       .gradients = x + weights,
       .native = [given](const Tensors& in) -> Tensors { return {fused_causal_conv1d(given(in))}; },
       .native_on = {fixtures::Device::kCpu}},
      pass);
}

/// The scope's arguments are {x, weight, whether it has a history}.
std::vector<MatchedOp> match_causal_conv1d(const ObservedCall& call) {
  const at::Tensor& x = call.arguments[0].toTensor();
  return {matched(Pass::kForward, CausalConv1dShape{.batch = x.size(0),
                                                    .positions = x.size(1),
                                                    .channels = x.size(2),
                                                    .kernel = call.arguments[1].toTensor().size(1),
                                                    .history = call.arguments[2].toBool()})};
}

}  // namespace

OpType causal_conv1d_type() {
  return {
      .name = "causal_conv1d",
      .op_class = OpClass::kConvolution,
      .passes = {Pass::kForward, Pass::kBackward},
      .examples = {R"({"batch": 2, "positions": 5, "channels": 3, "kernel": 4})",
                   R"({"batch": 2, "positions": 5, "channels": 67, "kernel": 4, "history": true})",
                   R"({"batch": 1, "positions": 2, "channels": 5, "kernel": 3})"},
      .fields = fields_of<CausalConv1dShape>,
      .make = make_causal_conv1d,
      .match = match_causal_conv1d};
}

}  // namespace fathom::ops
