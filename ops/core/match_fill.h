#pragma once

#include <vector>

#include "ops/core/op.h"

namespace fathom::ops {

/// The shape of ops that write a whole tensor.
struct FillShape {
  Sizes sizes;

  void visit(Fields& fields) { fields.sizes("sizes", sizes); }
};

/// Matches a call that writes a whole tensor, either an argument (fill_) or a new one (zeros).
/// Returns nothing where the type is not floating.
std::vector<MatchedOp> match_fill(const ObservedCall& call);

}  // namespace fathom::ops
