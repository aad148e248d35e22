#include "ops/backends/replaced_operators.h"

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <utility>

namespace fathom::ops {
namespace {

using torch::jit::Stack;

constexpr int kLibTorch = -1;

// Timing ends after this many runs, or after two that took long enough. The first one is not timed:
// it prepares the kernel.
constexpr int kRuns = 5;
constexpr double kEnoughSeconds = 0.02;

bool choice_has_ended = false;

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

void add(CallKey& key, c10::IntArrayRef values) {
  key.push_back(static_cast<int64_t>(values.size()));
  key.insert(key.end(), values.begin(), values.end());
}

void add(CallKey& key, const c10::IValue& value, std::vector<const void*>& memory) {
  if (value.isTensor() && value.toTensor().defined()) {
    const at::Tensor& tensor = value.toTensor();
    key.push_back(static_cast<int64_t>(tensor.scalar_type()));
    add(key, tensor.sizes());
    if (tensor.layout() == at::kStrided) add(key, tensor.strides());
    // Tensors that share memory stay the same ones.
    const void* data = tensor.has_storage() ? tensor.const_data_ptr() : nullptr;
    key.push_back(std::find(memory.begin(), memory.end(), data) - memory.begin());
    memory.push_back(data);
  } else if (value.isInt()) {
    key.push_back(value.toInt());
  } else if (value.isBool()) {
    key.push_back(value.toBool() ? 1 : 0);
  } else if (value.isDouble()) {
    key.push_back(std::bit_cast<int64_t>(value.toDouble()));
  } else if (value.isIntList()) {
    add(key, value.toIntVector());
  } else if (value.isBoolList()) {
    for (const bool one : value.toBoolList()) key.push_back(one ? 1 : 0);
  } else {
    key.push_back(-1);  // none
  }
}

CallKey key_of(int64_t op, Arguments in) {
  CallKey key{op, at::get_num_threads()};
  std::vector<const void*> memory;
  for (const auto& value : in) add(key, value, memory);
  return key;
}

/// An operator that runs replacements.
class ReplacedOperator final : public c10::OperatorKernel {
 public:
  ReplacedOperator(int64_t number, const std::string& name, std::vector<Replacement> replacements,
                   Choice choice)
      : number_(number),
        name_(name),
        libtorch_(c10::Dispatcher::singleton()
                      .findSchemaOrThrow(("aten::" + name).c_str(), "")
                      .getComputedKernelForDispatchKey(c10::DispatchKey::CPU)),
        replacements_(std::move(replacements)),
        choice_(choice) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
    const std::size_t count = op.schema().arguments().size();
    const Arguments in = torch::jit::last(*stack, count);
    const CallKey key = key_of(number_, in);
    for (const int choice : choices(op, keys, in, key)) {
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
  /// The replacements to try, best first.
  const std::vector<int>& choices(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                  Arguments in, const CallKey& key) {
    const auto [place, added] = choices_.try_emplace(key);
    if (!added) return place->second;
    const bool times =
        choice_ == Choice::kFastest &&
        std::none_of(replacements_.begin(), replacements_.end(),
                     [](const Replacement& replacement) { return replacement.decided; });
    if (times && choice_has_ended) return place->second;  // none to try
    std::vector<std::pair<double, int>> timed;
    for (int i = kLibTorch; i < std::ssize(replacements_); ++i) {
      if (times) {
        timed.emplace_back(seconds(op, keys, in, key, i), i);
      } else if (i != kLibTorch) {
        timed.emplace_back(0, i);
      }
    }
    std::sort(timed.begin(), timed.end());
    for (const auto& [time, i] : timed) place->second.push_back(i);
    if (times) keep_only(place->second.front(), key);
    return place->second;
  }

  void keep_only(int choice, const CallKey& key) const {
    for (int i = 0; i < std::ssize(replacements_); ++i) {
      const auto forget = replacements_[static_cast<std::size_t>(i)].forget;
      if (i != choice && forget != nullptr) forget(key);
    }
  }

  /// The fastest run of a kernel; infinite where it has none for the call.
  double seconds(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Arguments in,
                 const CallKey& key, int choice) {
    using Clock = std::chrono::steady_clock;
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
        return std::numeric_limits<double>::infinity();
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
  Choice choice_;
  std::map<CallKey, std::vector<int>> choices_;
  bool replaced_ = false;
};

/// The registration of each operator, which ends with its library.
std::map<std::string, torch::Library>& registrations() {
  static std::map<std::string, torch::Library> all;
  return all;
}

}  // namespace

void replace_operators(const std::vector<Replacement>& replacements, Choice choice) {
  if (!registrations().empty()) return;
  std::map<std::string, std::vector<Replacement>> operators;
  for (const auto& one : replacements) operators[one.op].push_back(one);
  int64_t number = 0;
  for (auto& [name, own] : operators) {
    auto kernel = std::make_unique<ReplacedOperator>(number++, name, std::move(own), choice);
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

void end_choice() {
  choice_has_ended = true;
  std::erase_if(registrations(), [](const auto& one) { return !replaced().contains(one.first); });
}

void without_replacement_warning(const std::function<void()>& registrations) {
  ReplacementsAreWanted handler;
  const c10::WarningUtils::WarningHandlerGuard guard(&handler);
  registrations();
}

}  // namespace fathom::ops
