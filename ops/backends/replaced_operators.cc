#include "ops/backends/replaced_operators.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <algorithm>
#include <chrono>
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

// Timing ends after this many runs, or after two that took long enough. The first one is not timed:
// it prepares the kernel.
constexpr int kRuns = 5;
constexpr double kEnoughSeconds = 0.02;

// Allowed for what a call of a replaced operator costs beside its kernel: the key, boxed arguments.
constexpr double kReplacedUs = 1;

/// The choice so far.
struct Progress {
  std::deque<ChosenKernel> kernels;  ///< operators keep pointers to them
  double seconds = 0;
  bool recorded = false;  ///< in an earlier run
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
        times_(choice == Choice::kFastest &&
               std::none_of(replacements_.begin(), replacements_.end(),
                            [](const Replacement& replacement) { return replacement.decided; })),
        recorded_(std::move(recorded)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
    const std::size_t count = op.schema().arguments().size();
    const Arguments in = torch::jit::last(*stack, count);
    const CallKey key = key_of(number_, in);
    const Chosen& chosen = chosen_for(op, keys, in, key);
    if (chosen.kernel != nullptr && !progress().ended) ++chosen.kernel->calls;
    for (const int choice : chosen.order) {
      if (choice == kLibTorch) break;
      const auto results = replacements_[static_cast<std::size_t>(choice)].run(in, key);
      if (!results) continue;
      if (!std::exchange(replaced_, true)) replaced().insert(name_);
      torch::jit::drop(*stack, count);
      for (const auto& result : *results) torch::jit::push(*stack, result);
      return;
    }
    libtorch_.callBoxed(op, keys, stack);
  }

 private:
  /// What calls with one key run.
  struct Chosen {
    std::vector<int> order;          ///< the replacements to try, best first
    ChosenKernel* kernel = nullptr;  ///< null where nothing was chosen
  };

  const Chosen& chosen_for(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Arguments in,
                           const CallKey& key) {
    const auto [place, added] = chosen_.try_emplace(key);
    Chosen& chosen = place->second;
    if (!added) return chosen;
    if (!times_) {
      for (int i = 0; i < std::ssize(replacements_); ++i) chosen.order.push_back(i);
    } else if (recorded_) {
      take_recorded(in, chosen);
    } else if (!progress().ended) {
      choose(op, keys, in, key, chosen);
    }
    return chosen;
  }

  void take_recorded(Arguments in, Chosen& chosen) const {
    const std::string call = text_of(in);
    for (const auto& one : *recorded_) {
      if (one.call != call) continue;
      chosen.kernel = &progress().kernels.emplace_back(one);
      chosen.kernel->calls = 0;
      for (int i = kLibTorch; i < std::ssize(replacements_); ++i) {
        if (one.kernel == backend(i)) chosen.order = {i};
      }
      if (!chosen.order.empty()) return;
      throw std::runtime_error("the recorded choice runs " + name_ + " on '" + one.kernel +
                               "', which has no kernel for it here");
    }
  }

  /// Times the kernels that can run the call.
  void choose(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Arguments in,
              const CallKey& key, Chosen& chosen) {
    const auto begin = Clock::now();
    std::vector<std::pair<double, int>> timed;
    for (int i = kLibTorch; i < std::ssize(replacements_); ++i) {
      if (const auto time = seconds(op, keys, in, key, i)) timed.emplace_back(*time, i);
    }
    std::sort(timed.begin(), timed.end());
    chosen.kernel = &progress().kernels.emplace_back(
        ChosenKernel{.op = name_, .call = text_of(in), .kernel = backend(timed.front().second)});
    for (const auto& [time, i] : timed) {
      chosen.order.push_back(i);
      chosen.kernel->us[backend(i)] = time * 1e6;
    }
    keep_only(chosen.order.front(), key);
    progress().seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  }

  std::string backend(int choice) const {
    return choice == kLibTorch ? "torch" : replacements_[static_cast<std::size_t>(choice)].backend;
  }

  void keep_only(int choice, const CallKey& key) const {
    for (int i = 0; i < std::ssize(replacements_); ++i) {
      const auto forget = replacements_[static_cast<std::size_t>(i)].forget;
      if (i != choice && forget != nullptr) forget(key);
    }
  }

  /// The fastest run of a kernel; nothing where it has none for the call.
  std::optional<double> seconds(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                Arguments in, const CallKey& key, int choice) {
    double best = std::numeric_limits<double>::infinity();
    double spent = 0;
    for (int run = 0; run < kRuns && (run < 2 || spent < kEnoughSeconds); ++run) {
      Stack stack(in.begin(), in.end());
      for (const auto& one : replacements_) {
        for (const std::size_t i : one.written) {
          if (stack[i].isTensor() && stack[i].toTensor().defined())
            stack[i] = stack[i].toTensor().clone();
        }
      }
      const auto begin = Clock::now();
      if (choice == kLibTorch) {
        libtorch_.callBoxed(op, keys, &stack);
      } else if (!replacements_[static_cast<std::size_t>(choice)].run(stack, key)) {
        return {};
      }
      const double taken = std::chrono::duration<double>(Clock::now() - begin).count();
      if (run > 0) best = std::min(best, taken);
      spent += taken;
    }
    return best;
  }

  int64_t number_;
  std::string name_;
  c10::SafeKernelFunction libtorch_;  ///< from before the replacement
  std::vector<Replacement> replacements_;
  bool times_;
  std::optional<std::vector<ChosenKernel>> recorded_;
  std::map<CallKey, Chosen> chosen_;
  bool replaced_ = false;
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
    if (saved_us.at(one.op) > 0) continue;
    one.kernel = "torch";
    replaced().erase(one.op);
  }
}

}  // namespace

void replace_operators(const std::vector<Replacement>& replacements, Choice choice,
                       const std::vector<ChosenKernel>* recorded) {
  if (!registrations().empty()) return;
  progress().recorded = recorded != nullptr;
  std::map<std::string, std::vector<Replacement>> operators;
  for (const auto& one : replacements) operators[one.op].push_back(one);
  int64_t number = 0;
  for (auto& [name, own] : operators) {
    auto kernel = std::make_unique<ReplacedOperator>(number++, name, std::move(own), choice,
                                                     of_operator(recorded, name));
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

ChosenKernels end_choice() {
  auto& [kernels, seconds, recorded, ended] = progress();
  ended = true;
  if (!recorded) drop_what_does_not_pay(kernels);
  std::erase_if(registrations(), [](const auto& one) { return !replaced().contains(one.first); });
  return {.kernels = {kernels.begin(), kernels.end()}, .seconds = seconds};
}

void without_replacement_warning(const std::function<void()>& registrations) {
  ReplacementsAreWanted handler;
  const c10::WarningUtils::WarningHandlerGuard guard(&handler);
  registrations();
}

}  // namespace fathom::ops
