#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_backward.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/gather_backward.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cmath>

#include "ops/core/call_args.h"
#include "ops/core/random_inputs.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

using Sizes = std::vector<int64_t>;

struct EmbeddingShape {
  int64_t rows;
  int64_t width;
  int64_t ids;
  bool sparse;  ///< of the gradient
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
    Draws draws(seed);
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
  double slack(fixtures::Precision /*precision*/) const override {
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

/// Along the second extent of x [outer, extent] or [outer, extent, inner]: {x, places [outer,
/// picks, ...]} gives {y} like places; {x, places, g} with g like y gives {dx}.
class Gather final : public Op {
 public:
  Gather(Sizes sizes, int64_t picks, Pass pass) : sizes_(std::move(sizes)), pass_(pass) {
    picked_ = sizes_;
    picked_[1] = picks;
  }

  /// Of x only what is picked; the gradient writes it all.
  Cost cost(fixtures::Precision precision) const override {
    const auto x = static_cast<double>(c10::multiply_integers(sizes_));
    const auto y = static_cast<double>(c10::multiply_integers(picked_));
    return {.flops = 0,
            .bytes = kIndexBytes * y +
                     element_bytes(precision) * (y + (pass_ == Pass::kForward ? y : x))};
  }

  double untouched_bytes(fixtures::Precision precision) const override {
    const int64_t x = c10::multiply_integers(sizes_);
    const int64_t touched = pass_ == Pass::kForward ? c10::multiply_integers(picked_) : 0;
    return element_bytes(precision) * static_cast<double>(std::max<int64_t>(x - touched, 0));
  }

  Tensors inputs(uint64_t seed) const override {
    Draws draws(seed);
    Tensors made{draws.normal(sizes_), draws.integers(picked_, 0, sizes_[1])};
    if (pass_ == Pass::kBackward) made.push_back(draws.normal(picked_));
    return made;
  }

  Call call(const Tensors& in) const override {
    if (pass_ == Pass::kForward) {
      return [x = in[0], places = in[1]]() -> Tensors { return {at::gather(x, 1, places)}; };
    }
    return [x = in[0], places = in[1], g = in[2]]() -> Tensors {
      return {at::gather_backward(g, x, 1, places, /*sparse_grad=*/false)};
    };
  }

 private:
  Sizes sizes_;
  Sizes picked_;
  Pass pass_;
};

}  // namespace

std::unique_ptr<Op> make_embedding(Fields& fields, Pass pass) {
  return std::make_unique<Embedding>(EmbeddingShape{.rows = fields.extent("rows"),
                                                    .width = fields.extent("width"),
                                                    .ids = fields.extent("ids"),
                                                    .sparse = fields.flag("sparse")},
                                     pass);
}

/// Rows that pad, which have no gradient, are looked up like others.
std::vector<SeenOp> recognise_embedding(const Seen& seen) {
  const auto& arguments = seen.arguments;
  if (seen.name == "aten::embedding") {
    const at::Tensor& weight = arguments[0].toTensor();
    return {{Pass::kForward,
             {{"rows", weight.size(0)},
              {"width", weight.size(1)},
              {"ids", arguments[1].toTensor().numel()}}}};
  }
  const bool either = seen.name == "aten::embedding_backward";
  const bool sparse = seen.name == "aten::embedding_sparse_backward";
  if (!either && !sparse && seen.name != "aten::embedding_dense_backward") return {};
  nlohmann::ordered_json fields{{"rows", arguments[2].toInt()},
                                {"width", arguments[0].toTensor().size(-1)},
                                {"ids", arguments[1].toTensor().numel()}};
  put_unless(fields, "sparse", either ? arguments[5].toBool() : sparse, false);
  return {{Pass::kBackward, fields}};
}

std::unique_ptr<Op> make_gather(Fields& fields, Pass pass) {
  auto sizes = fields.sizes("sizes");
  if (sizes.size() != 2 && sizes.size() != 3)
    fields.fail("\"sizes\" are not [outer, extent] or [outer, extent, inner]");
  return std::make_unique<Gather>(std::move(sizes), fields.extent("picks"), pass);
}

std::vector<SeenOp> recognise_gather(const Seen& seen) {
  const bool backward = seen.name == "aten::gather_backward";
  if (!backward && seen.name != "aten::gather") return {};
  const std::size_t x = backward ? 1 : 0;
  const auto whole = seen.arguments[x].toTensor().sizes();
  const int64_t axis = seen.arguments[x + 1].toInt();
  const auto picked = seen.arguments[x + 2].toTensor().sizes();
  if (whole.empty() || picked.size() != whole.size()) return {};
  const auto sizes = around(whole, axis);
  auto expected = around(picked, axis);
  const int64_t picks = expected[1];
  expected[1] = sizes[1];
  if (expected != sizes) return {};  // from a part of the other extents
  return {{backward ? Pass::kBackward : Pass::kForward, {{"sizes", sizes}, {"picks", picks}}}};
}

}  // namespace fathom::ops
