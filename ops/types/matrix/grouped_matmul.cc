#include "ops/kernels/experts/grouped_matmul.h"

#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/experts/expert_groups.h"
#include "ops/types/matrix/routing.h"

namespace fathom::ops {
namespace {

struct GroupedMatmulShape {
  Routing routing;
  int64_t n;
  int64_t k;

  void visit(Fields& fields) {
    routing.visit(fields);
    fields.extent("n", n);
    fields.extent("k", k);
  }
};

/// {x [tokens · top_k, k], weight [experts, n, k], offsets [experts]} gives {y [tokens · top_k,
/// n]}.
std::unique_ptr<Op> make_grouped_matmul(Fields& fields, Pass pass) {
  const auto [routing, n, k] = read_shape<GroupedMatmulShape>(fields);
  const at::Tensor chosen = chosen_experts(routing);
  const double rows = static_cast<double>(routing.pairs());
  const double matrix = elements({n, k});
  const double x = rows * static_cast<double>(k);
  const double y = rows * static_cast<double>(n);
  const auto used = static_cast<double>(chosen_count(chosen));
  const auto all = static_cast<double>(routing.experts);
  const auto groups = [top_k = routing.top_k](const Tensors& in) {
    return ExpertGroups{.order = {}, .offsets = in[2], .top_k = top_k};
  };
  return make_composite(
      {.inputs = [=, routing = routing, n = n, k = k](RandomInputs& draws) -> Tensors {
         return {draws.normal({routing.pairs(), k}), draws.weight({routing.experts, n, k}, k),
                 fused_expert_groups(chosen, routing.experts).offsets};
       },
       .with_gradient = 2,
       .forward = [groups](const Tensors& in) -> Tensors {
         return {grouped_matmul(in[0], in[1], groups(in))};
       },
       .outputs = 1,
       .macs = rows* matrix,
       .read = x + used* matrix,
       .written = y,
       .gradients = x + all* matrix,
       .native = [groups](const Tensors& in) -> Tensors {
         return {fused_grouped_matmul(in[0], in[1], groups(in))};
       },
       .native_on = {fixtures::Device::kCpu},
       .integers = all / 2,  // of 32 bits
       .untouched = (all - used) * matrix},
      pass);
}

/// The scope's arguments are {x, weight, top_k}.
std::vector<MatchedOp> match_grouped_matmul(const ObservedCall& call) {
  if (call.arguments.size() != 3) return {};
  const at::Tensor& weight = call.arguments[1].toTensor();
  const int64_t top_k = call.arguments[2].toInt();
  return {
      matched(Pass::kForward,
              GroupedMatmulShape{.routing = {.tokens = call.arguments[0].toTensor().size(0) / top_k,
                                             .experts = weight.size(0),
                                             .top_k = top_k},
                                 .n = weight.size(1),
                                 .k = weight.size(2)})};
}

}  // namespace

OpType grouped_matmul_type() {
  return {.name = "grouped_matmul",
          .op_class = OpClass::kMatrix,
          .passes = {Pass::kForward, Pass::kBackward},
          .examples =
              {R"({"tokens": 6, "experts": 4, "top_k": 2, "routing": "uniform", "n": 5, "k": 3})",
               R"({"tokens": 1, "experts": 7, "top_k": 3, "routing": "uniform", "n": 8, "k": 4})",
               R"({"tokens": 31, "experts": 5, "top_k": 2, "routing": "zipf", "n": 4, "k": 8})"},
          .fields = fields_of<GroupedMatmulShape>,
          .make = make_grouped_matmul,
          .match = match_grouped_matmul};
}

}  // namespace fathom::ops
