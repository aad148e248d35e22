#include "ops/backends/operators/replaced_kernels.h"

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/library.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "ops/backends/operators/timed_kernels.h"
#include "ops/kernels/fused_composites.h"

namespace fathom::ops {
namespace {

constexpr int kLibTorch = -1;  // the number of its kernel; others have that of their replacement

// Allowed for what a call of a replaced operator costs beside its kernel: the key, boxed arguments.
constexpr double kReplacedUs = 1;

/// The recorded kernels of one operator; nothing without a record.
std::optional<std::vector<ChosenKernel>> of_operator(const std::vector<ChosenKernel>* recorded,
                                                     const std::string& name) {
  if (recorded == nullptr) return {};
  std::vector<ChosenKernel> own;
  for (const auto& one : *recorded) {
    if (one.op == name) own.push_back(one);
  }
  return own;
}

/// Takes back the operators whose kernels save less than it costs to call them.
void drop_what_does_not_pay(std::deque<ChosenKernel>& kernels) {
  std::map<std::string, double> saved_us;
  for (const auto& one : kernels) {
    saved_us[one.op] += static_cast<double>(one.calls) * (one.saved_us() - kReplacedUs);
  }
  for (auto& one : kernels) {
    if (saved_us.at(one.op) <= 0) one.kernel = "torch";
  }
}

}  // namespace

/// The boxed kernel of an operator that runs replacements.
class ReplacedKernels::Operator final : public c10::OperatorKernel {
 public:
  /// `recorded` holds the kernels of this operator's calls in an earlier choice.
  Operator(ReplacedKernels& set, const std::string& name, std::vector<Replacement> replacements,
           std::optional<std::vector<ChosenKernel>> recorded)
      : set_(set),
        name_(name),
        libtorch_(c10::Dispatcher::singleton()
                      .findSchema(torch::jit::parseName("aten::" + name))
                      .value()
                      .getComputedKernelForDispatchKey(set.key_)),
        replacements_(std::move(replacements)),
        chooses_(set.chooses() && forward() == nullptr),
        recorded_(std::move(recorded)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    const Arguments in = torch::jit::last(*stack, op.schema().arguments().size());
    Calls& calls = calls_with(in);
    // Whether a kernel can run the call; then its results replace the arguments on the stack.
    const auto run = [&](int kernel) {
      if (kernel == kLibTorch) {
        libtorch_.callBoxed(op, keys, stack);
        return true;
      }
      const auto results = replacement(kernel).run(in, calls.kept[kernel]);
      if (!results) return false;
      torch::jit::drop(*stack, in.size());
      for (const auto& result : *results) torch::jit::push(*stack, result);
      return true;
    };
    if (calls.chosen != nullptr && !set_.ended_) ++calls.counts[set_.round_];
    if (calls.timed && !set_.ended_) {
      calls.kernels.run_next(set_.turns_, run);
      set_.undecided_ = set_.undecided_ || calls.kernels.undecided();
    } else if (calls.kernels.run_first(run) == kLibTorch) {
      if (calls.chosen != nullptr) calls.chosen->kernel = backend(kLibTorch);
    } else {
      is_replaced_ = true;
    }
  }

  /// Whether a call ran a replacement that was not only timed, or will.
  bool is_replaced() const { return is_replaced_; }

  /// The operator whose choice is this one's, too; null: none.
  const char* forward() const { return replacements_.front().forward; }

  /// Writes the fastest kernels of the calls in a round into the choice.
  void choose(int round) {
    for (auto& [key, calls] : calls_) {
      if (calls.chosen == nullptr) continue;
      calls.chosen->calls = calls.counts[round];
      if (!calls.timed) continue;
      const std::map<int, double> seconds = calls.kernels.seconds();
      for (const auto& [kernel, taken] : seconds) calls.chosen->us[backend(kernel)] = taken * 1e6;
      const auto fastest =
          std::min_element(seconds.begin(), seconds.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      if (calls.chosen->calls > 0 && fastest != seconds.end())
        calls.chosen->kernel = backend(fastest->first);
    }
  }

  /// Drops the kernels that were not chosen, and what they keep. LibTorch's stays the last.
  void keep_chosen() {
    for (auto& [key, calls] : calls_) {
      // The next call of a gradient makes what the chosen forward pass needs.
      if (forward() != nullptr) calls.kept.clear();
      if (!calls.timed) continue;
      calls.kernels.drop_if([&](int kernel) {
        if (kernel == kLibTorch || backend(kernel) == calls.chosen->kernel) return false;
        calls.kept.erase(kernel);
        return true;
      });
      is_replaced_ = is_replaced_ || calls.claimed || calls.chosen->kernel != backend(kLibTorch);
    }
  }

  /// Whether its replacement stays follows from that of the forward pass.
  void keep_with(const Operator* forward) {
    is_replaced_ = is_replaced_ && forward != nullptr && forward->is_replaced();
  }

 private:
  /// The calls with one key.
  struct Calls {
    TimedKernels kernels;
    std::map<int, KeptPointer> kept = {};  ///< by kernel
    bool timed = false;                    ///< until the choice ends
    bool claimed = false;                  ///< by replacements: LibTorch's kernel is none of them
    ChosenKernel* chosen = nullptr;
    std::map<int, int64_t> counts = {};  ///< of calls, by round
  };

  Calls& calls_with(Arguments in) {
    const bool claimed = claims(in);
    CallKey key = key_of(in);
    key.push_back(claimed ? 1 : 0);
    const auto [place, added] = calls_.try_emplace(std::move(key));
    Calls& calls = place->second;
    if (!added) return calls;
    calls.claimed = claimed;
    if (chooses_ && recorded_) {
      take_recorded(in, calls);
    } else if (claimed || !chooses_ || !set_.ended_) {
      for (int i = 0; i < std::ssize(replacements_); ++i) {
        if (claims(i) == claimed) calls.kernels.add(i);
      }
      calls.timed = chooses_ && !set_.ended_;
    }
    if (calls.timed) {
      calls.chosen = &set_.kernels_.emplace_back(
          ChosenKernel{.op = name_, .call = text_of(in), .kernel = "torch"});
    }
    if (!claimed) calls.kernels.add(kLibTorch);
    return calls;
  }

  bool claims(int kernel) const { return replacement(kernel).claims != nullptr; }

  /// Whether replacements claim a call.
  bool claims(Arguments in) const {
    return std::ranges::any_of(replacements_, [&](const Replacement& one) {
      return one.claims != nullptr && one.claims(in);
    });
  }

  void take_recorded(Arguments in, Calls& calls) const {
    const std::string call = text_of(in);
    for (const auto& one : *recorded_) {
      if (one.call != call) continue;
      calls.chosen = &set_.kernels_.emplace_back(one);
      if (one.kernel == "torch" && !calls.claimed) return;
      for (int i = 0; i < std::ssize(replacements_); ++i) {
        if (claims(i) == calls.claimed && one.kernel == backend(i)) calls.kernels.add(i);
      }
      if (!calls.kernels.empty()) return;
      throw std::runtime_error("the recorded choice runs " + name_ + " on '" + one.kernel +
                               "', which has no kernel for it here");
    }
  }

  const Replacement& replacement(int kernel) const {
    return replacements_[static_cast<std::size_t>(kernel)];
  }

  std::string backend(int kernel) const {
    return kernel == kLibTorch ? "torch" : replacement(kernel).backend;
  }

  ReplacedKernels& set_;
  std::string name_;
  c10::SafeKernelFunction libtorch_;  ///< from before the replacement
  std::vector<Replacement> replacements_;
  bool chooses_;
  std::optional<std::vector<ChosenKernel>> recorded_;
  std::map<CallKey, Calls> calls_;
  bool is_replaced_ = false;
};

/// The registration of an operator, which ends with its library.
struct ReplacedKernels::Registered {
  explicit Registered(c10::DispatchKey key)
      : library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__) {}

  torch::Library library;
  Operator* kernel = nullptr;  ///< the library's
};

ReplacedKernels::ReplacedKernels(const std::string& name, fixtures::Device device,
                                 std::vector<Replacement> replacements, Choice choice)
    : KernelSet(name, {{device, {}}}),
      key_(device == fixtures::Device::kCpu ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA),
      replacements_(std::move(replacements)),
      choice_(choice) {
  for (const auto& one : replacements_) add(device, one.op);
}

ReplacedKernels::~ReplacedKernels() = default;

void ReplacedKernels::install(const std::vector<ChosenKernel>* recorded) {
  if (std::exchange(installed_, true)) return;
  if (chooses()) fused_composites() = true;
  times_ = chooses() && recorded == nullptr;
  std::map<std::string, std::vector<Replacement>> operators;
  for (const auto& one : replacements_) operators[one.op].push_back(one);
  for (auto& [name, own] : operators) {
    auto kernel =
        std::make_unique<Operator>(*this, name, std::move(own), of_operator(recorded, name));
    auto registered = std::make_unique<Registered>(key_);
    registered->kernel = kernel.get();
    without_replacement_warning([&, &name = name] {
      registered->library.impl(name.c_str(),
                               torch::CppFunction::makeFromBoxedFunctor(std::move(kernel)));
    });
    operators_.emplace(name, std::move(registered));
  }
}

std::optional<std::set<std::string>> ReplacedKernels::replaced() const {
  std::set<std::string> names;
  for (const auto& [name, one] : operators_) {
    if (one->kernel->is_replaced()) names.insert(name);
  }
  return names;
}

Round ReplacedKernels::end_round() {
  return {.number = round_++, .undecided = std::exchange(undecided_, false)};
}

std::vector<ChosenKernel> ReplacedKernels::end_choice(int round) {
  if (!std::exchange(ended_, true)) {
    for (const auto& [name, one] : operators_) one->kernel->choose(round);
    if (times_) choose();
    std::erase_if(operators_, [](const auto& one) { return !one.second->kernel->is_replaced(); });
  }
  std::vector<ChosenKernel> called;
  for (const auto& one : kernels_) {
    if (one.calls > 0) called.push_back(one);
  }
  return called;
}

/// Chooses by the times of the calls.
void ReplacedKernels::choose() {
  drop_what_does_not_pay(kernels_);
  for (const auto& [name, one] : operators_) one->kernel->keep_chosen();
  for (const auto& [name, one] : operators_) {
    if (const char* forward = one->kernel->forward(); forward != nullptr) {
      const auto found = operators_.find(forward);
      one->kernel->keep_with(found == operators_.end() ? nullptr : found->second->kernel);
    }
  }
}

}  // namespace fathom::ops
