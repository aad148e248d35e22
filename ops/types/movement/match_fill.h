#pragma once

#include <string_view>
#include <vector>

#include "ops/core/op.h"

namespace fathom::ops {

/// Calls of the kind `type` that write a whole tensor, given (fill_) or made by its sizes (zeros),
/// as rows {"sizes"}; none where its type is not floating.
std::vector<SeenOp> recognise_factory(std::string_view type, const Seen& seen);

}  // namespace fathom::ops
