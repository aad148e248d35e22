#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "fixtures/machine/device.h"
#include "ops/backends/operators/chosen_kernels.h"

namespace fathom::ops {

/// Kernels that a process can run in place of LibTorch's.
struct KernelSet {
  std::string name;  ///< the backend of its rows
  /// The operators that they implement, as "addmm" or "add.Tensor".
  std::map<fixtures::Device, std::set<std::string>> operators = {};
  /// Whether it chooses kernels by timing them in the first steps.
  bool chooses = false;
  /// From then on LibTorch dispatches to them, in the whole process. `recorded` is an earlier
  /// choice to repeat; null: none. Throws std::runtime_error.
  std::function<void(const std::vector<ChosenKernel>* recorded)> install = {};
  /// Those of `operators` that have run another kernel than LibTorch's; null where all do.
  std::function<std::set<std::string>()> replaced = {};
  /// Whether kernels take turns, as at first, or calls run the fastest so far; null: there is
  /// nothing to choose.
  std::function<void(bool turns)> take_turns = {};
  /// Ends a round of calls, such as a step on each batch. Null like take_turns.
  std::function<Round()> end_round = {};
  /// Called after the first steps, returns the kernels of the calls in a round; null: nothing to
  /// do.
  std::function<std::vector<ChosenKernel>(int round)> end_choice = {};

  bool has_kernels_for(fixtures::Device device) const { return operators.contains(device); }
};

/// oneDNN, called directly, for the operators of the CPU that take most of the steps' time: matrix
/// products, convolutions, pooling, batch normalization, LSTM layers and softmax, with their
/// gradients where those are operators of their own. Tensors keep LibTorch's layouts: each call
/// reorders what its primitive wants in another one. Where oneDNN has no primitive for a call, as
/// for other types, LibTorch's kernel runs. Without operators in a build without oneDNN.
KernelSet onednn_kernels();

/// On the CPU, for each of these operators and each shape the fastest of LibTorch's kernel,
/// oneDNN's and ours: the calls of the first steps take turns. Composites and updates run our fused
/// kernels. On a GPU it has no operators: there LibTorch's updates are fused, and its convolutions
/// are the fastest of cuDNN's.
KernelSet tuned_kernels(fixtures::Device device);

}  // namespace fathom::ops
