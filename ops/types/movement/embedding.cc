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
  bool sparse;  ///< of the gradient

  void visit(Fields& fields) {
    fields.extent("rows", rows);
    fields.extent("width", width);
    fields.extent("ids", ids);
    fields.flag("sparse", sparse);
  }
};

/// {weight [rows, width], ids} gives {y [ids, width]}. {weight, ids, g} with g like y gives
/// {dweight}, or where that is sparse its {indices [1, ids], values [ids, width]}.
class Embedding final : public Op {
 public:
  Embedding(const EmbeddingShape& shape, Pass pass) : shape_(shape), pass_(pass) {}

  /// Of the table only the rows that are looked up; the gradient writes it all. A sparse gradient's
  /// values are g itself: nothing moves.
  Cost cost(fixtures::Precision precision) const override {
    if (pass_ == Pass::kBackward && shape_.sparse) return {.flops = 0, .bytes = 0};
    const auto looked_up = static_cast<double>(shape_.ids * shape_.width);
    const auto table = static_cast<double>(shape_.rows * shape_.width);
    return {.flops = 0,
            .bytes = kIndexBytes * static_cast<double>(shape_.ids) +
                     element_bytes(precision) *
                         (looked_up + (pass_ == Pass::kForward ? looked_up : table))};
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

  /// LibTorch adds up a word's gradients one by one in their own type, where most words have none:
  /// an error grows with the count of the most frequent one.
  double tolerance_factor(fixtures::Precision /*precision*/) const override {
    if (pass_ == Pass::kForward || shape_.sparse) return 1;
    const auto ids = static_cast<double>(shape_.ids);
    const auto rows = static_cast<double>(shape_.rows);
    const double most = ids * std::log(2) / std::log1p(rows);
    return 1 + most * std::sqrt(rows / ids) / 4;
  }

 private:
  EmbeddingShape shape_;
  Pass pass_;
};

/// embedding(weight, ids), embedding_backward(g, ids, rows, ..., sparse). Rows that pad, which have
/// no gradient, are looked up like others.
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
  const bool either = call.name == "aten::embedding_backward";
  return {
      matched(Pass::kBackward,
              EmbeddingShape{.rows = arguments[2].toInt(),
                             .width = arguments[0].toTensor().size(-1),
                             .ids = ids,
                             .sparse = either ? arguments[5].toBool()
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
