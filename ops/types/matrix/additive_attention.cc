#include "ops/kernels/additive_attention.h"

#include <ATen/core/ivalue.h>

#include "ops/core/composite.h"
#include "ops/core/op.h"

namespace fathom::ops {
namespace {

struct AdditiveAttentionShape {
  int64_t n;
  int64_t places;
  int64_t width;
  int64_t query;

  void visit(Fields& fields) {
    fields.extent("n", n);
    fields.extent("places", places);
    fields.extent("width", width);
    fields.extent("query", query);
  }
};

/// {memory, keys, query, score} gives {context [N, H]}.
std::unique_ptr<Op> make_additive_attention(Fields& fields, Pass pass) {
  const auto [n, places, width, query] = read_shape<AdditiveAttentionShape>(fields);
  const auto both = static_cast<double>(n * places * (width + query));  // memory and keys
  const double read = both + static_cast<double>(n * query + query);
  return make_composite({.inputs = [=, n = n, places = places, width = width,
                                    query = query](RandomInputs& draws) -> Tensors {
                           return {draws.normal({n, places, width}),
                                   draws.normal({n, places, query}), draws.normal({n, query}),
                                   draws.weight({1, query}, query)};
                         },
                         .with_gradient = 4,
                         .forward = [](const Tensors& in) -> Tensors {
                           return {additive_attention(in[0], in[1], in[2], in[3])};
                         },
                         .outputs = 1,
                         .macs = both,
                         .read = read,
                         .written = static_cast<double>(n * width),
                         .gradients = read},
                        pass);
}

/// The scope's arguments are {memory [N, T, H], keys [N, T, A]}.
std::vector<MatchedOp> match_additive_attention(const ObservedCall& call) {
  if (call.arguments.size() != 2) return {};
  const at::Tensor& memory = call.arguments[0].toTensor();
  return {matched(Pass::kForward,
                  AdditiveAttentionShape{.n = memory.size(0),
                                         .places = memory.size(1),
                                         .width = memory.size(2),
                                         .query = call.arguments[1].toTensor().size(2)})};
}

}  // namespace

OpType additive_attention_type() {
  return {.name = "additive_attention",
          .op_class = OpClass::kMatrix,
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"n": 3, "places": 5, "width": 4, "query": 2})",
                       R"({"n": 1, "places": 1, "width": 3, "query": 1})"},
          .fields = fields_of<AdditiveAttentionShape>,
          .make = make_additive_attention,
          .match = match_additive_attention};
}

}  // namespace fathom::ops
