#include "ops/kernels/additive_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/linear.h>
#include <ATen/record_function.h>

#include "ops/core/composite.h"
#include "ops/types/table.h"

namespace fathom::ops {

at::Tensor additive_attention(const at::Tensor& memory, const at::Tensor& keys,
                              const at::Tensor& query, const at::Tensor& score) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:attention", (std::vector<c10::IValue>{memory, keys}));
  const at::Tensor scores = at::linear((keys + query.unsqueeze(1)).tanh_(), score);  // [N, T, 1]
  return at::bmm(scores.softmax(1).transpose(1, 2), memory).squeeze(1);
}

/// {memory, keys, query, score} gives {what is read}.
std::unique_ptr<Op> make_attention(Fields& fields, Pass pass) {
  const int64_t n = fields.extent("n");
  const int64_t places = fields.extent("places");
  const int64_t width = fields.extent("width");
  const int64_t query = fields.extent("query");
  const auto both = static_cast<double>(n * places * (width + query));  // memory and keys
  const double read = both + static_cast<double>(n * query + query);
  return make_composite({.leaves = [=](Draws& draws) -> Tensors {
                           return {draws.normal({n, places, width}),
                                   draws.normal({n, places, query}), draws.normal({n, query}),
                                   draws.weight({1, query}, query)};
                         },
                         .with_gradient = 4,
                         .forward = [](const Tensors& in) -> Tensors {
                           return {additive_attention(in[0], in[1], in[2], in[3])};
                         },
                         .outputs = 1,
                         .products = both,
                         .read = read,
                         .written = static_cast<double>(n * width),
                         .gradients = read},
                        pass);
}

std::vector<SeenOp> recognise_attention(const Seen& seen) {
  if (seen.name != "op:attention" || seen.arguments.size() != 2) return {};
  const at::Tensor& memory = seen.arguments[0].toTensor();
  return {{Pass::kForward,
           {{"n", memory.size(0)},
            {"places", memory.size(1)},
            {"width", memory.size(2)},
            {"query", seen.arguments[1].toTensor().size(2)}}}};
}

}  // namespace fathom::ops
