#include "ops/kernels/rotary.h"

#include <ATen/ops/cat.h>

#include <numbers>

#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct RotaryShape {
  int64_t batch;
  int64_t positions;
  int64_t heads;
  int64_t kv_heads;
  int64_t width;  ///< of a head

  void visit(Fields& fields) {
    fields.extent("batch", batch);
    fields.extent("positions", positions);
    fields.extent("heads", heads);
    fields.extent("kv_heads", kv_heads, heads, "heads");
    fields.extent("width", width);
    fields.require(width % 2 == 0, "\"width\" is odd, expected pairs of elements");
  }
};

/// {queries [batch, positions, heads, width], keys [.., kv_heads, width], cos, sin [positions,
/// width]} gives both, rotated.
std::unique_ptr<Op> make_rotary(Fields& fields, Pass pass) {
  const auto [batch, positions, heads, kv_heads, width] = read_shape<RotaryShape>(fields);
  const Sizes queries{batch, positions, heads, width};
  const Sizes keys{batch, positions, kv_heads, width};
  const Sizes pairs{positions, width / 2};
  const double states = elements(queries) + elements(keys);
  const double table = 2 * elements({positions, width});
  return make_composite(
      {.inputs = [=](RandomInputs& draws) -> Tensors {
         const at::Tensor angles = draws.uniform(pairs, 0, 2 * std::numbers::pi);
         const at::Tensor both = at::cat({angles, angles}, 1);
         return {draws.normal(queries), draws.normal(keys), both.cos(), both.sin()};
       },
       .with_gradient = 2,
       .forward = [](const Tensors& in) -> Tensors {
         const auto [q, k] = rotary(in[0], in[1], {.cos = in[2], .sin = in[3]});
         return {q, k};
       },
       .outputs = 2,
       .macs = 0,
       .read = states + table,
       .written = states,
       .gradients = states,
       .native = [](const Tensors& in) -> Tensors {
         const auto [q, k] = fused_rotary(in[0], in[1], {.cos = in[2], .sin = in[3]});
         return {q, k};
       },
       .native_on = {fixtures::Device::kCpu}},
      pass);
}

/// The scope's arguments are {queries, keys}.
std::vector<MatchedOp> match_rotary(const ObservedCall& call) {
  const at::Tensor& queries = call.arguments[0].toTensor();
  return {matched(Pass::kForward, RotaryShape{.batch = queries.size(0),
                                              .positions = queries.size(1),
                                              .heads = queries.size(2),
                                              .kv_heads = call.arguments[1].toTensor().size(2),
                                              .width = queries.size(3)})};
}

}  // namespace

OpType rotary_type() {
  return {.name = "rotary",
          .op_class = OpClass::kElementwise,
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"batch": 2, "positions": 3, "heads": 6, "kv_heads": 2, "width": 10})",
                       R"({"batch": 1, "positions": 1, "heads": 1, "width": 2})"},
          .fields = fields_of<RotaryShape>,
          .make = make_rotary,
          .match = match_rotary};
}

}  // namespace fathom::ops
