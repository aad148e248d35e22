#include "ops/backends/operators/replaced_operator.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace fathom::ops {
namespace {

constexpr int kLibTorch = -1;  // the number of its kernel; others have that of their replacement

}  // namespace

Progress& progress() {
  static Progress all;
  return all;
}

ReplacedOperator::ReplacedOperator(int64_t number, const std::string& name,
                                   std::vector<Replacement> replacements, Choice choice,
                                   std::optional<std::vector<ChosenKernel>> recorded)
    : number_(number),
      name_(name),
      libtorch_(c10::Dispatcher::singleton()
                    .findSchemaOrThrow(("aten::" + name).c_str(), "")
                    .getComputedKernelForDispatchKey(c10::DispatchKey::CPU)),
      replacements_(std::move(replacements)),
      chooses_(choice == Choice::kFastest && forward() == nullptr),
      recorded_(std::move(recorded)) {}

void ReplacedOperator::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                  torch::jit::Stack* stack) {
  const Arguments in = torch::jit::last(*stack, op.schema().arguments().size());
  const CallKey key = key_of(number_, in);
  // Whether a kernel can run the call; then its results replace the arguments on the stack.
  const auto run = [&](int kernel) {
    if (kernel == kLibTorch) {
      libtorch_.callBoxed(op, keys, stack);
      return true;
    }
    const auto results = replacement(kernel).run(in, key);
    if (!results) return false;
    torch::jit::drop(*stack, in.size());
    for (const auto& result : *results) torch::jit::push(*stack, result);
    return true;
  };
  Calls& calls = calls_with(key, in);
  Progress& choice = progress();
  if (calls.chosen != nullptr && !choice.ended) ++calls.counts[choice.round];
  if (calls.timed && !choice.ended) {
    calls.kernels.run_next(choice.turns, run);
    choice.undecided = choice.undecided || calls.kernels.undecided();
  } else if (calls.kernels.run_first(run) == kLibTorch) {
    if (calls.chosen != nullptr) calls.chosen->kernel = backend(kLibTorch);
  } else if (!std::exchange(is_replaced_, true)) {
    choice.replaced.insert(name_);
  }
}

void ReplacedOperator::choose(int round) {
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

void ReplacedOperator::keep_chosen() {
  for (auto& [key, calls] : calls_) {
    if (forward() != nullptr) {  // the next call makes what the chosen forward pass needs
      for (const auto& one : replacements_) {
        if (one.forget != nullptr) one.forget(key);
      }
    }
    if (!calls.timed) continue;
    calls.kernels.drop_if([&](int kernel) {
      if (kernel == kLibTorch || backend(kernel) == calls.chosen->kernel) return false;
      if (const auto forget = replacement(kernel).forget; forget != nullptr) forget(key);
      return true;
    });
  }
}

ReplacedOperator::Calls& ReplacedOperator::calls_with(const CallKey& key, Arguments in) {
  const auto [place, added] = calls_.try_emplace(key);
  Calls& calls = place->second;
  if (!added) return calls;
  if (chooses_ && recorded_) {
    take_recorded(in, calls);
  } else if (!chooses_ || !progress().ended) {
    for (int i = 0; i < std::ssize(replacements_); ++i) calls.kernels.add(i);
    calls.timed = chooses_;
  }
  if (calls.timed) {
    calls.chosen = &progress().kernels.emplace_back(
        ChosenKernel{.op = name_, .call = text_of(in), .kernel = "torch"});
  }
  calls.kernels.add(kLibTorch);
  return calls;
}

void ReplacedOperator::take_recorded(Arguments in, Calls& calls) const {
  const std::string call = text_of(in);
  for (const auto& one : *recorded_) {
    if (one.call != call) continue;
    calls.chosen = &progress().kernels.emplace_back(one);
    if (one.kernel == "torch") return;
    for (int i = 0; i < std::ssize(replacements_); ++i) {
      if (one.kernel == backend(i)) calls.kernels.add(i);
    }
    if (!calls.kernels.empty()) return;
    throw std::runtime_error("the recorded choice runs " + name_ + " on '" + one.kernel +
                             "', which has no kernel for it here");
  }
}

const Replacement& ReplacedOperator::replacement(int kernel) const {
  return replacements_[static_cast<std::size_t>(kernel)];
}

std::string ReplacedOperator::backend(int kernel) const {
  return kernel == kLibTorch ? "torch" : replacement(kernel).backend;
}

}  // namespace fathom::ops
