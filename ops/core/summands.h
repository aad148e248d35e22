#pragma once

#include <optional>

#include "ops/core/op.h"

namespace fathom::ops {

/// The sizes of what an op adds up to its results. A result that cancels is smaller: the gradient
/// of a softmax over one element is 0, but a kernel may get it as the difference of two large
/// numbers, each of them rounded.
class Summands {
 public:
  /// Of the op's `exact` results over `inputs`. All must outlive this.
  Summands(const Op& op, const Tensors& inputs, const Tensors& exact)
      : op_(op), inputs_(inputs), exact_(exact) {}

  /// One float64 tensor for each output. Found on first use, by Monte Carlo arithmetic (Parker
  /// 1997): the op runs on float64 several times, while its inputs and all results inside are off
  /// by a tiny share at random. An element's size is how far it moves, divided by that share. Empty
  /// where the op now gives other results, because a user's kernels have replaced LibTorch's.
  const Tensors& sizes();

 private:
  const Op& op_;
  const Tensors& inputs_;
  const Tensors& exact_;
  std::optional<Tensors> sizes_;
};

}  // namespace fathom::ops
