#include "ops/kernels/additive_attention.h"

#include <ATen/core/ivalue.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct AdditiveAttentionShape {
  int64_t n;
  int64_t places;
  int64_t width;
  int64_t query;  ///< of the query and the keys
  bool mask;      ///< padding is masked

  void visit(Fields& fields) {
    fields.extent("n", n);
    fields.extent("places", places);
    fields.extent("width", width);
    fields.extent("query", query);
    fields.flag("mask", mask);
  }
};

/// 0 at the first words of a memory, at least half of its places, and -infinity after them: [N, T].
at::Tensor padding_mask(RandomInputs& draws, int64_t n, int64_t places) {
  const at::Tensor words = draws.integers({n, 1}, (places + 1) / 2, places + 1);
  const at::Tensor place = at::arange(places, at::kLong);
  return at::zeros({n, places})
      .masked_fill_(place.ge(words), -std::numeric_limits<double>::infinity());
}

/// {memory, keys, query, score} or {memory, keys, query, score, mask} gives {context [N, H]}.
std::unique_ptr<Op> make_additive_attention(Fields& fields, Pass pass) {
  const auto [n, places, width, query, mask] = read_shape<AdditiveAttentionShape>(fields);
  const auto both = elements({n, places, width + query});  // memory and keys
  const double differentiable = both + elements({n + 1, query});
  return make_composite(
      {.inputs = [n = n, places = places, width = width, query = query,
                  mask = mask](RandomInputs& draws) -> Tensors {
         Tensors made{draws.normal({n, places, width}), draws.normal({n, places, query}),
                      draws.normal({n, query}), draws.weight({1, query}, query)};
         if (mask) made.push_back(padding_mask(draws, n, places));
         return made;
       },
       .with_gradient = 4,
       .forward = [mask = mask](const Tensors& in) -> Tensors {
         return {additive_attention(in[0], in[1], in[2], in[3],
                                    mask ? std::optional(in[4]) : std::nullopt)};
       },
       .outputs = 1,
       .macs = both,
       .read = differentiable + (mask ? elements({n, places}) : 0),
       .written = elements({n, width}),
       .gradients = differentiable,
       .native = [mask = mask](const Tensors& in) -> Tensors {
         return {fused_additive_attention(in[0], in[1], in[2], in[3],
                                          mask ? std::optional(in[4]) : std::nullopt)};
       },
       .native_on = {fixtures::Device::kCpu},
       // seq2seq, which has no mask, runs the composite.
       .native_in_steps =
           mask ? std::vector{fixtures::Device::kCpu} : std::vector<fixtures::Device>{}},
      pass);
}

/// The scope's arguments are {memory [N, T, H], keys [N, T, A]} and a mask, if there is one.
std::vector<MatchedOp> match_additive_attention(const ObservedCall& call) {
  if (call.arguments.size() != 2 && call.arguments.size() != 3) return {};
  const at::Tensor& memory = call.arguments[0].toTensor();
  return {
      matched(Pass::kForward, AdditiveAttentionShape{.n = memory.size(0),
                                                     .places = memory.size(1),
                                                     .width = memory.size(2),
                                                     .query = call.arguments[1].toTensor().size(2),
                                                     .mask = call.arguments.size() == 3})};
}

}  // namespace

OpType additive_attention_type() {
  return {.name = "additive_attention",
          .op_class = OpClass::kMatrix,
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"n": 3, "places": 5, "width": 4, "query": 2})",
                       R"({"n": 2, "places": 7, "width": 3, "query": 5, "mask": true})",
                       R"({"n": 1, "places": 1, "width": 3, "query": 1})"},
          .fields = fields_of<AdditiveAttentionShape>,
          .make = make_additive_attention,
          .match = match_additive_attention};
}

}  // namespace fathom::ops
