#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_backward.h>

#include <algorithm>
#include <cmath>

#include "ops/core/call_args.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"

namespace fathom::ops {
namespace {

struct EmbeddingShape {
  int64_t rows;
  int64_t width;
  int64_t ids;
  bool sparse;  ///< whether the gradient is sparse

  void visit(Fields& fields) {
    fields.extent("rows", rows);
    fields.extent("width", width);
    fields.extent("ids", ids);
    fields.flag("sparse", sparse);
  }
};

/// Forward: {weight [rows, width], ids} gives {y [ids, width]}. Backward: {weight, ids, g}, with g
/// of the shape of y, gives {dweight}, or {indices [1, ids], values [ids, width]} of a sparse one.
class Embedding final : public Op {
 public:
  Embedding(const EmbeddingShape& shape, Pass pass) : shape_(shape), pass_(pass) {}

  /// Forward reads only the rows that are looked up; a dense gradient is a whole table. The values
  /// of a sparse gradient are g itself, so nothing is moved.
  Cost cost(fixtures::Precision precision) const override {
    if (pass_ == Pass::kBackward && shape_.sparse) return {.flops = 0, .bytes = 0};
    const auto looked_up = static_cast<double>(shape_.ids * shape_.width);
    const auto table = static_cast<double>(shape_.rows * shape_.width);
    const double rows = pass_ == Pass::kForward ? std::min(looked_up, table) : table;
    return {.flops = 0,
            .bytes = kIndexBytes * static_cast<double>(shape_.ids) +
                     element_bytes(precision) * (looked_up + rows)};
  }

  double untouched_bytes(fixtures::Precision precision) const override {
    const auto touched = pass_ == Pass::kForward ? std::min(shape_.ids, shape_.rows) : 0;
    return element_bytes(precision) * static_cast<double>((shape_.rows - touched) * shape_.width);
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    Tensors made{draws.normal({shape_.rows, shape_.width}), draws.words({shape_.ids}, shape_.rows)};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal({shape_.ids, shape_.width}));
    return made;
  }

  Call call(const Tensors& in) const override {
    if (pass_ == Pass::kForward) {
      return [weight = in[0], ids = in[1]]() -> Tensors { return {at::embedding(weight, ids)}; };
    }
    return [ids = in[1], g = in[2], rows = shape_.rows, sparse = shape_.sparse]() -> Tensors {
      const at::Tensor dweight = at::embedding_backward(g, ids, rows, /*padding_idx=*/-1,
                                                        /*scale_grad_by_freq=*/false, sparse);
      if (!sparse) return {dweight};
      return {dweight._indices(), dweight._values()};
    };
  }

  /// LibTorch sums the gradients of a word one by one, in the type of the tensor. The error grows
  /// with the count of the most frequent word, while most words have no gradient and keep the root
  /// mean square small.
  double tolerance_factor(fixtures::Precision /*precision*/) const override {
    if (pass_ == Pass::kForward || shape_.sparse) return 1;
    const auto ids = static_cast<double>(shape_.ids);
    const auto rows = static_cast<double>(shape_.rows);
    const double max_count = ids * std::log(2) / std::log1p(rows);
    return 1 + max_count * std::sqrt(rows / ids) / 4;
  }

 private:
  EmbeddingShape shape_;
  Pass pass_;
};

/// embedding(weight, ids), embedding_backward(g, ids, rows, ..., sparse). A padding row, which has
/// no gradient, counts like any other.
std::vector<MatchedOp> match_embedding(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  const int64_t ids = arguments[1].toTensor().numel();
  if (call.name == "aten::embedding") {
    const at::Tensor& weight = arguments[0].toTensor();
    return {
        matched(Pass::kForward,
                EmbeddingShape{
                    .rows = weight.size(0), .width = weight.size(1), .ids = ids, .sparse = false})};
  }
  const bool has_sparse_flag = call.name == "aten::embedding_backward";
  return {matched(
      Pass::kBackward,
      EmbeddingShape{.rows = arguments[2].toInt(),
                     .width = arguments[0].toTensor().size(-1),
                     .ids = ids,
                     .sparse = has_sparse_flag ? arguments[5].toBool()
                                               : call.name == "aten::embedding_sparse_backward"})};
}

}  // namespace

OpType embedding_type() {
  return {.name = "embedding",
          .op_class = OpClass::kMovement,
          .aten = {"embedding", "embedding_backward", "embedding_dense_backward",
                   "embedding_sparse_backward"},
          .passes = {Pass::kForward, Pass::kBackward},
          .examples = {R"({"rows": 11, "width": 3, "ids": 7})",
                       R"({"rows": 11, "width": 3, "ids": 7, "sparse": true})"},
          .fields = fields_of<EmbeddingShape>,
          .make = make_op<Embedding, EmbeddingShape>,
          .match = match_embedding};
}

}  // namespace fathom::ops
