#include "ops/backends/replaced_operators.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

namespace fathom::ops {
namespace {

using torch::jit::Stack;
using Clock = std::chrono::steady_clock;

constexpr int kLibTorch = -1;

// Timed runs of each kernel that make a choice certain, or two that took long enough. The run
// before them prepares the kernel.
constexpr int kTimedRuns = 5;
constexpr double kEnoughSeconds = 0.02;

// Allowed for what a call of a replaced operator costs beside its kernel: the key, boxed arguments.
constexpr double kReplacedUs = 1;

class ReplacedOperator;

/// The choice so far.
struct Progress {
  bool chooses = false;                   ///< not a recorded choice
  std::deque<ChosenKernel> kernels = {};  ///< operators keep pointers to them
  std::vector<ReplacedOperator*> operators = {};
  bool turns = true;  ///< of the kernels at a call; else the fastest so far runs
  int round = 0;
  bool undecided = false;  ///< whether a call of this round was
  bool ended = false;
};

Progress& progress() {
  static Progress all;
  return all;
}

std::set<std::string>& replaced() {
  static std::set<std::string> names;
  return names;
}

class ReplacementsAreWanted final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    if (warning.msg().find("Overriding a previously registered kernel") == std::string::npos)
      c10::WarningHandler::process(warning);
  }
};

/// An operator that runs replacements.
class ReplacedOperator final : public c10::OperatorKernel {
 public:
  /// `recorded` holds the kernels of this operator's calls in an earlier choice.
  ReplacedOperator(int64_t number, const std::string& name, std::vector<Replacement> replacements,
                   Choice choice, std::optional<std::vector<ChosenKernel>> recorded)
      : number_(number),
        name_(name),
        libtorch_(c10::Dispatcher::singleton()
                      .findSchemaOrThrow(("aten::" + name).c_str(), "")
                      .getComputedKernelForDispatchKey(c10::DispatchKey::CPU)),
        replacements_(std::move(replacements)),
        chooses_(choice == Choice::kFastest && forward() == nullptr),
        recorded_(std::move(recorded)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
    const std::size_t count = op.schema().arguments().size();
    const Arguments in = torch::jit::last(*stack, count);
    const CallKey key = key_of(number_, in);
    Calls& calls = calls_with(key, in);
    if (calls.chosen != nullptr && !progress().ended) ++calls.counts[progress().round];
    if (calls.timed && !progress().ended) return run_next(op, keys, in, key, stack, calls);
    for (const auto& kernel : calls.kernels) {
      if (!run(kernel.number, op, keys, in, key, stack)) continue;
      if (kernel.number != kLibTorch && !std::exchange(is_replaced_, true))
        replaced().insert(name_);
      return;
    }
  }

  bool is_replaced() const { return is_replaced_; }

  const std::string& name() const { return name_; }

  /// The operator whose choice is this one's, too; null: none.
  const char* forward() const { return replacements_.front().forward; }

  /// Writes the fastest kernels of the calls in a round into the choice.
  void choose(int round) {
    for (auto& [key, calls] : calls_) {
      if (calls.chosen == nullptr) continue;
      calls.chosen->calls = calls.counts[round];
      if (!calls.timed) continue;
      for (const auto& kernel : calls.kernels) {
        if (std::isfinite(kernel.seconds))
          calls.chosen->us[backend(kernel.number)] = kernel.seconds * 1e6;
      }
      const Kernel& best = *std::min_element(calls.kernels.begin(), calls.kernels.end(), is_faster);
      if (calls.chosen->calls > 0 && std::isfinite(best.seconds))
        calls.chosen->kernel = backend(best.number);
    }
  }

  /// Drops the kernels that were not chosen, and what they keep. LibTorch's stays the last.
  void keep_chosen() {
    for (auto& [key, calls] : calls_) {
      if (!calls.timed) continue;
      std::erase_if(calls.kernels, [&](const Kernel& kernel) {
        if (kernel.number == kLibTorch || backend(kernel.number) == calls.chosen->kernel)
          return false;
        if (const auto forget = replacement(kernel.number).forget; forget != nullptr) forget(key);
        return true;
      });
    }
  }

 private:
  struct Kernel {
    int number;  ///< of the replacement, or kLibTorch
    int runs = 0;
    double spent = 0;  ///< seconds, on timed runs
    /// Of the fastest timed run.
    double seconds = std::numeric_limits<double>::infinity();

    bool wants_runs() const { return runs <= 2 || (runs <= kTimedRuns && spent < kEnoughSeconds); }
  };

  /// The calls with one key.
  struct Calls {
    std::vector<Kernel> kernels;  ///< the first that can runs
    bool timed = false;           ///< until the choice ends
    ChosenKernel* chosen = nullptr;
    std::map<int, int64_t> counts;  ///< of calls, by round
  };

  static bool is_faster(const Kernel& a, const Kernel& b) { return a.seconds < b.seconds; }
  static bool ran_less(const Kernel& a, const Kernel& b) { return a.runs < b.runs; }

  Calls& calls_with(const CallKey& key, Arguments in) {
    const auto [place, added] = calls_.try_emplace(key);
    Calls& calls = place->second;
    if (!added) return calls;
    if (chooses_ && recorded_) {
      take_recorded(in, calls);
    } else if (!chooses_ || !progress().ended) {
      for (int i = 0; i < std::ssize(replacements_); ++i) calls.kernels.push_back({i});
      calls.timed = chooses_;
    }
    if (calls.timed) {
      calls.chosen = &progress().kernels.emplace_back(
          ChosenKernel{.op = name_, .call = text_of(in), .kernel = "torch"});
    }
    calls.kernels.push_back({kLibTorch});
    return calls;
  }

  void take_recorded(Arguments in, Calls& calls) const {
    const std::string call = text_of(in);
    for (const auto& one : *recorded_) {
      if (one.call != call) continue;
      calls.chosen = &progress().kernels.emplace_back(one);
      if (one.kernel == "torch") return;
      for (int i = 0; i < std::ssize(replacements_); ++i) {
        if (one.kernel == backend(i)) calls.kernels.push_back({i});
      }
      if (!calls.kernels.empty()) return;
      throw std::runtime_error("the recorded choice runs " + name_ + " on '" + one.kernel +
                               "', which has no kernel for it here");
    }
  }

  /// Runs the call on the kernel whose turn it is, and times it. Drops kernels that cannot run it.
  void run_next(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Arguments in,
                const CallKey& key, Stack* stack, Calls& calls) {
    const auto before = progress().turns ? ran_less : is_faster;
    while (true) {
      const auto next = std::min_element(calls.kernels.begin(), calls.kernels.end(), before);
      const auto begin = Clock::now();
      if (!run(next->number, op, keys, in, key, stack)) {
        calls.kernels.erase(next);
        continue;
      }
      const double taken = std::chrono::duration<double>(Clock::now() - begin).count();
      if (next->runs++ > 0) {
        next->seconds = std::min(next->seconds, taken);
        next->spent += taken;
      }
      break;
    }
    const bool several = calls.kernels.size() > 1;
    if (several && std::any_of(calls.kernels.begin(), calls.kernels.end(),
                               [](const Kernel& kernel) { return kernel.wants_runs(); }))
      progress().undecided = true;
  }

  /// Whether a kernel can run the call; then its results replace the arguments on the stack.
  bool run(int kernel, const c10::OperatorHandle& op, c10::DispatchKeySet keys, Arguments in,
           const CallKey& key, Stack* stack) {
    if (kernel == kLibTorch) {
      libtorch_.callBoxed(op, keys, stack);
      return true;
    }
    const auto results = replacement(kernel).run(in, key);
    if (!results) return false;
    torch::jit::drop(*stack, in.size());
    for (const auto& result : *results) torch::jit::push(*stack, result);
    return true;
  }

  const Replacement& replacement(int kernel) const {
    return replacements_[static_cast<std::size_t>(kernel)];
  }

  std::string backend(int kernel) const {
    return kernel == kLibTorch ? "torch" : replacement(kernel).backend;
  }

  int64_t number_;
  std::string name_;
  c10::SafeKernelFunction libtorch_;  ///< from before the replacement
  std::vector<Replacement> replacements_;
  bool chooses_;
  std::optional<std::vector<ChosenKernel>> recorded_;
  std::map<CallKey, Calls> calls_;
  bool is_replaced_ = false;  ///< a call ran a replacement untimed
};

/// The registration of each operator, which ends with its library.
std::map<std::string, torch::Library>& registrations() {
  static std::map<std::string, torch::Library> all;
  return all;
}

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

/// Chooses by the times of the calls.
void choose() {
  drop_what_does_not_pay(progress().kernels);
  replaced().clear();  // it holds what ran only to be timed
  for (const auto& one : progress().kernels) {
    if (one.kernel != "torch") replaced().insert(one.op);
  }
  for (auto* one : progress().operators) {
    one->keep_chosen();
    if (one->is_replaced() && replaced().contains(one->forward())) replaced().insert(one->name());
  }
}

}  // namespace

void replace_operators(const std::vector<Replacement>& replacements, Choice choice,
                       const std::vector<ChosenKernel>* recorded) {
  if (!registrations().empty()) return;
  progress().chooses = choice == Choice::kFastest && recorded == nullptr;
  std::map<std::string, std::vector<Replacement>> operators;
  for (const auto& one : replacements) operators[one.op].push_back(one);
  int64_t number = 0;
  for (auto& [name, own] : operators) {
    auto kernel = std::make_unique<ReplacedOperator>(number++, name, std::move(own), choice,
                                                     of_operator(recorded, name));
    progress().operators.push_back(kernel.get());
    without_replacement_warning([&] {
      torch::Library& library = registrations()
                                    .try_emplace(name, torch::Library::IMPL, "aten",
                                                 c10::DispatchKey::CPU, __FILE__, __LINE__)
                                    .first->second;
      library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::move(kernel)));
    });
  }
}

std::set<std::string> replaced_operators() { return replaced(); }

void take_turns(bool turns) { progress().turns = turns; }

Round end_round() {
  return {.number = progress().round++, .undecided = std::exchange(progress().undecided, false)};
}

std::vector<ChosenKernel> end_choice(int round) {
  progress().ended = true;
  for (auto* one : progress().operators) one->choose(round);
  if (progress().chooses) choose();
  progress().operators.clear();
  std::erase_if(registrations(), [](const auto& one) { return !replaced().contains(one.first); });
  std::vector<ChosenKernel> called;
  for (const auto& one : progress().kernels) {
    if (one.calls > 0) called.push_back(one);
  }
  return called;
}

void without_replacement_warning(const std::function<void()>& registrations) {
  ReplacementsAreWanted handler;
  const c10::WarningUtils::WarningHandlerGuard guard(&handler);
  registrations();
}

}  // namespace fathom::ops
