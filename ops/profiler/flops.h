#pragma once

#include <functional>
#include <set>
#include <string>

namespace fathom::ops {

/// The dense arithmetic of a step, its convolutions, matrix products, attention and recurrent
/// layers, and the operators that it runs.
struct StepFlops {
  double flops = 0;  ///< an add or a multiply counts one; taps that fall on padding don't count
  double macs = 0;   ///< multiply-adds of the forward pass, padding counted: the papers' convention
  std::set<std::string> choices;    ///< such as "ctc:cudnn": the implementation that LibTorch chose
  std::set<std::string> operators;  ///< of LibTorch, as "mm" or "mm.out"
  /// Calls of those types that give no row, such as "aten::convolution" of a volume, outside of ops
  /// that do. Their FLOPs are unknown and not in `flops`.
  std::set<std::string> uncounted;
};

/// Runs `step` once and sums Op::cost of those of its recorded ops (record.h) that belong to the
/// classes matrix and convolution. So a step has the FLOPs of its rows, on every device and however
/// its composites and fused kernels compute them.
StepFlops count_flops(const std::function<void()>& step);

}  // namespace fathom::ops
