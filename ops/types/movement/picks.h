#pragma once

#include <cmath>
#include <cstdint>

#include "ops/core/fields.h"

namespace fathom::ops {

/// `picks` indices into the second dimension of a tensor.
struct Picks {
  Sizes sizes;  ///< [outer, extent] or [outer, extent, inner]
  int64_t picks;

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.require(sizes.size() == 2 || sizes.size() == 3,
                   "\"sizes\" are not [outer, extent] or [outer, extent, inner]");
    fields.extent("picks", picks);
  }

  /// The sizes of the picked elements.
  Sizes picked() const {
    Sizes all = sizes;
    all[1] = picks;
    return all;
  }
};

/// The tolerance factor of sums of many summands with a pick, in the type of the tensor.
inline double summands(const Picks& shape) {
  return 1 + std::sqrt(static_cast<double>(shape.picks) / static_cast<double>(shape.sizes[1]));
}

}  // namespace fathom::ops
