#pragma once

#include "ops/core/fields.h"

namespace fathom::ops {

/// The field "sizes" as [N, C, H, W].
inline void visit_image_sizes(Fields& fields, Sizes& sizes) {
  fields.sizes("sizes", sizes);
  fields.require(sizes.size() == 4, "\"sizes\" does not have four extents, expected [N, C, H, W]");
}

}  // namespace fathom::ops
