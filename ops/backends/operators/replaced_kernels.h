#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ops/backends/operators/kernel_set.h"
#include "ops/backends/operators/replacement.h"

namespace fathom::ops {

/// Which kernel a call runs.
enum class Choice {
  kFirst,  ///< the first replacement that has one, else LibTorch's
  /// The fastest, LibTorch's included: calls with one key take turns and are timed. Composites run
  /// our fused kernels.
  kFastest,
};

/// Replacements of LibTorch's operators on a device. They end with the object.
class ReplacedKernels : public KernelSet {
 public:
  ReplacedKernels(const std::string& name, fixtures::Device device,
                  std::vector<Replacement> replacements, Choice choice);
  ~ReplacedKernels() override;

  bool chooses() const override { return choice_ == Choice::kFastest; }

  /// With `recorded`, Choice::kFastest times nothing: a call that is not among them runs
  /// LibTorch's.
  void install(const std::vector<ChosenKernel>* recorded) override;

  std::optional<std::set<std::string>> replaced() const override;
  void take_turns(bool turns) override { turns_ = turns; }
  Round end_round() override;

  /// Operators that run LibTorch's kernels, or save less than it costs to replace them, lose their
  /// replacements. Of the other operators, calls that were not in the round run LibTorch's kernel
  /// from then on.
  std::vector<ChosenKernel> end_choice(int round) override;

 private:
  class Operator;
  struct Registered;

  void choose();

  const c10::DispatchKey key_;  ///< of the device
  const std::vector<Replacement> replacements_;
  const Choice choice_;
  bool installed_ = false;
  bool times_ = false;                ///< whether kernels are chosen by timing, not recorded
  std::deque<ChosenKernel> kernels_;  ///< operators keep pointers to them
  bool turns_ = true;                 ///< see take_turns()
  int round_ = 0;
  bool undecided_ = false;  ///< whether a call of this round was
  bool ended_ = false;      ///< the choice
  std::map<std::string, std::unique_ptr<Registered>> operators_;
};

}  // namespace fathom::ops
