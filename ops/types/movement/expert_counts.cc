#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/experts/expert_groups.h"

namespace fathom::ops {
namespace {

struct ExpertCountsShape {
  int64_t tokens;
  int64_t experts;
  int64_t top_k;

  void visit(Fields& fields) {
    fields.extent("tokens", tokens);
    fields.extent("experts", experts);
    fields.extent("top_k", top_k);
    fields.require(top_k <= experts, "\"top_k\" is larger than \"experts\"");
  }
};

/// {chosen [tokens, top_k]} gives {the pairs in the order of their experts [tokens · top_k], the
/// ends of the experts' pairs [experts]}.
std::unique_ptr<Op> make_expert_counts(Fields& fields, Pass pass) {
  const auto [tokens, experts, top_k] = read_shape<ExpertCountsShape>(fields);
  const double pairs = elements({tokens, top_k});
  const auto results = [experts = experts](auto* group, const Tensors& in) -> Tensors {
    const ExpertGroups groups = group(in[0], experts);
    return {groups.order, groups.offsets};
  };
  return make_composite(
      {.inputs = [tokens = tokens, experts = experts,
                  top_k = top_k](RandomInputs& draws) -> Tensors {
         return {draws.uniform({tokens, experts}, 0, 1)
                     .argsort(/*dim=*/int64_t{1})
                     .narrow(1, 0, top_k)
                     .contiguous()};
       },
       .with_gradient = 0,
       .forward = [results](const Tensors& in) { return results(expert_groups, in); },
       .outputs = 2,
       .macs = 0,
       .read = 0,
       .written = 0,
       .gradients = 0,
       .native = [results](const Tensors& in) { return results(fused_expert_groups, in); },
       .native_on = {fixtures::Device::kCpu},
       .integers = 2 * pairs + static_cast<double>(experts) / 2},  // offsets of 32 bits
      pass);
}

/// The scope's arguments are {chosen, experts}.
std::vector<MatchedOp> match_expert_counts(const ObservedCall& call) {
  const at::Tensor& chosen = call.arguments[0].toTensor();
  return {matched(Pass::kForward, ExpertCountsShape{.tokens = chosen.size(0),
                                                    .experts = call.arguments[1].toInt(),
                                                    .top_k = chosen.size(1)})};
}

}  // namespace

OpType expert_counts_type() {
  return {.name = "expert_counts",
          .op_class = OpClass::kMovement,
          .passes = {Pass::kForward},
          .examples = {R"({"tokens": 7, "experts": 5, "top_k": 2})",
                       R"({"tokens": 1, "experts": 3, "top_k": 3})"},
          .fields = fields_of<ExpertCountsShape>,
          .make = make_expert_counts,
          .match = match_expert_counts};
}

}  // namespace fathom::ops
