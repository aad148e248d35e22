#include "ops/kernels/sequence/selective_scan.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include <cmath>

#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct SelectiveScanShape {
  int64_t batch;
  int64_t positions;
  int64_t channels;
  int64_t states;  ///< of a channel
  bool state;      ///< begins with given states and returns the last ones, as in decoding

  void visit(Fields& fields) {
    fields.extent("batch", batch);
    fields.extent("positions", positions);
    fields.extent("channels", channels);
    fields.extent("states", states);
    fields.flag("state", state);
  }
};

/// {u, delta, a, b, c, d, z, delta_bias} of ScanInputs gives {y}; with states [batch, states,
/// channels] after them, {y, states}. As in a network before training: a is -1, -2, ..., and the
/// bias gives step sizes from 0.001 to 0.1.
std::unique_ptr<Op> make_selective_scan(Fields& fields, Pass pass) {
  const auto [batch, positions, channels, states, state] = read_shape<SelectiveScanShape>(fields);
  fields.require(!state || pass == Pass::kForward, "a scan with \"state\" has no gradient");
  const Sizes rows{batch, positions, channels};
  const Sizes shared{batch, positions, states};
  const Sizes kept{batch, states, channels};
  const double x = elements(rows);
  const double selected = 2 * elements(shared);
  const double channel_state = elements({channels, states}) + 2 * static_cast<double>(channels);
  const double both = state ? elements(kept) : 0;
  const auto results = [state = state](auto* scan, const Tensors& in) -> Tensors {
    const ScanInputs inputs{.u = in[0],
                            .delta = in[1],
                            .a = in[2],
                            .b = in[3],
                            .c = in[4],
                            .d = in[5],
                            .z = in[6],
                            .delta_bias = in[7]};
    auto [y, last] = scan(inputs, state ? in[8] : at::Tensor());
    if (!state) return {y};
    return {y, last.to(y.scalar_type())};
  };
  return make_composite(
      {.inputs = [=, states = states, channels = channels,
                  state = state](RandomInputs& draws) -> Tensors {
         const at::Tensor rates = -at::arange(1, states + 1, at::kFloat).expand({channels, states});
         const at::Tensor steps = draws.uniform({channels}, std::log(0.001), std::log(0.1)).exp();
         Tensors made{draws.normal(rows),   draws.normal(rows, 0.1),
                      rates.contiguous(),   draws.normal(shared),
                      draws.normal(shared), draws.normal({channels}, 0.1).add_(1),
                      draws.normal(rows),   steps.expm1().log()};  // softplus gives the steps
         if (state) made.push_back(draws.normal(kept));
         return made;
       },
       .with_gradient = 8,
       .forward = [results](const Tensors& in) { return results(selective_scan, in); },
       .outputs = state ? 2U : 1U,
       .macs = x* static_cast<double>(states),  // of c and the states
       .read = 3 * x + selected + channel_state + both,
       .written = x + both,
       .gradients = 3 * x + selected + channel_state,
       .native = [results](const Tensors& in) { return results(fused_selective_scan, in); },
       .native_in_steps = {fixtures::Device::kCpu, fixtures::Device::kCuda}},
      pass);
}

/// The scope's arguments are {u, b, whether there are states}.
std::vector<MatchedOp> match_selective_scan(const ObservedCall& call) {
  if (call.arguments.size() != 3) return {};
  const at::Tensor& u = call.arguments[0].toTensor();
  return {matched(Pass::kForward, SelectiveScanShape{.batch = u.size(0),
                                                     .positions = u.size(1),
                                                     .channels = u.size(2),
                                                     .states = call.arguments[1].toTensor().size(2),
                                                     .state = call.arguments[2].toBool()})};
}

}  // namespace

OpType selective_scan_type() {
  return {.name = "selective_scan",
          .op_class = OpClass::kMatrix,
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"batch": 2, "positions": 5, "channels": 3, "states": 4})",
                       R"({"batch": 1, "positions": 37, "channels": 17, "states": 2})"},
          .fields = fields_of<SelectiveScanShape>,
          .make = make_selective_scan,
          .match = match_selective_scan};
}

}  // namespace fathom::ops
