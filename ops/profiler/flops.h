#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ops/types/convolution/conv2d.h"
#include "ops/types/matrix/matmul.h"

namespace fathom::ops {

/// The dense arithmetic (convolutions, matrix products and LSTM layers) that LibTorch ran.
struct Work {
  double flops = 0;  ///< an add or a multiply counts one; taps that fall on padding don't count
  double macs =
      0;  ///< multiply-accumulates of forward products with padding counted, the papers' convention
  std::set<std::string> choices;  ///< as in "ctc:cudnn", where LibTorch has several ways
  std::vector<MatmulShape>
      matmuls;  ///< those that are not batched, as they ran; transposed factors are not told apart
};

/// Runs `step` once and returns what it did on this thread and on autograd's. Products that
/// LibTorch does not dispatch (inside our own kernels) are not seen; those inside its LSTM layers
/// are counted, not listed.
Work observe(const std::function<void()>& step);

}  // namespace fathom::ops
