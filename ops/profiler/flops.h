#pragma once

#include <functional>
#include <set>
#include <string>

namespace fathom::ops {

/// The dense arithmetic of a step, its convolutions, matrix products and recurrent layers, and the
/// operators that it runs.
struct StepFlops {
  double flops = 0;  ///< an add or a multiply counts one; taps that fall on padding don't count
  double macs = 0;   ///< multiply-adds of the forward pass, padding counted: the papers' convention
  std::set<std::string> choices;    ///< such as "ctc:cudnn": the implementation that LibTorch chose
  std::set<std::string> operators;  ///< of LibTorch, as "mm" or "mm.out"
};

/// Runs `step` once and sums Op::cost of the ops of the classes matrix and convolution that run on
/// this thread and on autograd's. A composite in a scope counts the products that it executes;
/// where it executes none that LibTorch dispatches (a fused kernel), it counts its own cost.
StepFlops count_flops(const std::function<void()>& step);

}  // namespace fathom::ops
