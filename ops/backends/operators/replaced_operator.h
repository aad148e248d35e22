#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/backends/operators/replaced_operators.h"
#include "ops/backends/operators/timed_kernels.h"

namespace fathom::ops {

class ReplacedOperator;

/// The choice so far, of the operators of this process.
struct Progress {
  bool chooses = false;                   ///< not a recorded choice
  std::deque<ChosenKernel> kernels = {};  ///< operators keep pointers to them
  std::vector<ReplacedOperator*> operators = {};
  std::set<std::string> replaced = {};  ///< operators of which a call has run a replacement
  bool turns = true;                    ///< of the kernels at a call; else the fastest so far runs
  int round = 0;
  bool undecided = false;  ///< whether a call of this round was
  bool ended = false;
};

/// That of this process.
Progress& progress();

/// The boxed kernel of an operator that runs replacements.
class ReplacedOperator final : public c10::OperatorKernel {
 public:
  /// `recorded` holds the kernels of this operator's calls in an earlier choice.
  ReplacedOperator(int64_t number, const std::string& name, std::vector<Replacement> replacements,
                   Choice choice, std::optional<std::vector<ChosenKernel>> recorded);

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack);

  const std::string& name() const { return name_; }

  /// Whether a call ran a replacement that was not only timed.
  bool is_replaced() const { return is_replaced_; }

  /// The operator whose choice is this one's, too; null: none.
  const char* forward() const { return replacements_.front().forward; }

  /// Writes the fastest kernels of the calls in a round into the choice.
  void choose(int round);

  /// Drops the kernels that were not chosen, and what they keep. LibTorch's stays the last.
  void keep_chosen();

 private:
  /// The calls with one key.
  struct Calls {
    TimedKernels kernels;
    bool timed = false;  ///< until the choice ends
    ChosenKernel* chosen = nullptr;
    std::map<int, int64_t> counts;  ///< of calls, by round
  };

  Calls& calls_with(const CallKey& key, Arguments in);
  void take_recorded(Arguments in, Calls& calls) const;
  const Replacement& replacement(int kernel) const;
  std::string backend(int kernel) const;

  int64_t number_;
  std::string name_;
  c10::SafeKernelFunction libtorch_;  ///< from before the replacement
  std::vector<Replacement> replacements_;
  bool chooses_;
  std::optional<std::vector<ChosenKernel>> recorded_;
  std::map<CallKey, Calls> calls_;
  bool is_replaced_ = false;
};

}  // namespace fathom::ops
