#pragma once

namespace fathom::ops {

/// What one call of an op costs at least.
struct Cost {
  double flops;  ///< an add or a multiply counts one, a multiply-add two
  double bytes;  ///< every input read once, every output written once
};

}  // namespace fathom::ops
