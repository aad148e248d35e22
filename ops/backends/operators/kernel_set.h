#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fixtures/machine/device.h"
#include "fixtures/machine/precision.h"
#include "ops/backends/operators/chosen_kernels.h"

namespace fathom::ops {

/// Kernels that a process can run in place of LibTorch's. The state is the object's, but LibTorch
/// has one table of kernels: installed ones serve the whole process, and only one set should be
/// installed at a time.
class KernelSet {
 public:
  /// Operators as "addmm" or "add.Tensor".
  using Operators = std::map<fixtures::Device, std::set<std::string>>;

  KernelSet(const KernelSet&) = delete;
  KernelSet& operator=(const KernelSet&) = delete;
  virtual ~KernelSet() = default;

  const std::string& name() const { return name_; }  ///< the backend of its rows
  /// Those that the kernels implement.
  const Operators& operators() const { return operators_; }
  bool has_kernels_for(fixtures::Device device) const { return operators_.contains(device); }

  /// Whether it chooses kernels by timing them in the first steps.
  virtual bool chooses() const { return false; }
  /// From then on LibTorch dispatches to them; a second call changes nothing. `recorded` is an
  /// earlier choice to repeat; null: none. Throws std::runtime_error.
  virtual void install(const std::vector<ChosenKernel>* recorded) = 0;
  /// Those of operators() that have run another kernel than LibTorch's; nothing where all do.
  virtual std::optional<std::set<std::string>> replaced() const { return {}; }
  /// Whether kernels take turns, as at first, or calls run the fastest so far.
  virtual void take_turns(bool /*turns*/) {}
  /// Ends a round of calls, such as a step on each batch. The first one is number 0.
  virtual Round end_round() { return {}; }
  /// Called after the first steps, returns the kernels of the calls in a round.
  virtual std::vector<ChosenKernel> end_choice(int /*round*/) { return {}; }

 protected:
  explicit KernelSet(std::string name, Operators operators = {})
      : name_(std::move(name)), operators_(std::move(operators)) {}

  void add(fixtures::Device device, const std::string& op) { operators_[device].insert(op); }

 private:
  std::string name_;
  Operators operators_;
};

/// oneDNN, called directly, for the operators of the CPU that take most of the steps' time: matrix
/// products, convolutions, pooling, batch normalization, LSTM layers, softmax and activations, with
/// their gradients where those are operators of their own. Tensors keep LibTorch's layouts: each
/// call reorders what its primitive wants in another one. Where oneDNN has no primitive for a call,
/// as for other types, LibTorch's kernel runs. Without operators in a build without oneDNN.
/// In kInt8, the QuantizedLayers of the process run on oneDNN, too.
std::shared_ptr<KernelSet> onednn_kernels(
    fixtures::Precision precision = fixtures::Precision::kFp32);

/// On the CPU, for each of these operators and each shape the fastest of LibTorch's kernel,
/// oneDNN's and ours: the calls of the first steps take turns. Composites and updates run our fused
/// kernels. On a GPU it has no operators: there LibTorch's updates are fused, and its convolutions
/// are the fastest of cuDNN's. In a quantised precision, with kernels of the QuantizedLayers of the
/// process.
std::shared_ptr<KernelSet> tuned_kernels(
    fixtures::Device device, fixtures::Precision precision = fixtures::Precision::kFp32);

/// LibTorch's kernels of the QuantizedLayers of the process; backend:torch runs them.
std::shared_ptr<KernelSet> torch_quantized_kernels(
    fixtures::Device device = fixtures::Device::kCpu);

/// Runs `registrations` of kernels without LibTorch's warning that they replace others.
void without_replacement_warning(const std::function<void()>& registrations);

}  // namespace fathom::ops
