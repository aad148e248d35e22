#pragma once

#include "fixtures/machine/precision.h"

namespace fathom::ops {

/// Minimum cost of one call of an op.
struct Cost {
  double flops;     ///< an add or a multiply counts one, a multiply-add two
  double bytes;     ///< every input read once, every output written once
  double macs = 0;  ///< multiply-adds, padding counted: the papers' convention
};

/// Bytes per element of floating type.
inline double element_bytes(fixtures::Precision precision) {
  return fixtures::is_half(precision) ? 2 : 4;
}

inline constexpr double kIndexBytes = 8;  ///< int64

}  // namespace fathom::ops
