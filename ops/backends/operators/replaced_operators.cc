#include "ops/backends/operators/replaced_operators.h"

#include <c10/util/Exception.h>
#include <torch/library.h>

#include <map>
#include <memory>
#include <utility>

#include "ops/backends/operators/replaced_operator.h"

namespace fathom::ops {
namespace {

// Allowed for what a call of a replaced operator costs beside its kernel: the key, boxed arguments.
constexpr double kReplacedUs = 1;

class ReplacementsAreWanted final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    if (warning.msg().find("Overriding a previously registered kernel") == std::string::npos)
      c10::WarningHandler::process(warning);
  }
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
  std::set<std::string>& replaced = progress().replaced;
  replaced.clear();  // it holds what ran only to be timed
  for (const auto& one : progress().kernels) {
    if (one.kernel != "torch") replaced.insert(one.op);
  }
  for (auto* one : progress().operators) {
    one->keep_chosen();
    if (one->is_replaced() && one->forward() != nullptr && replaced.contains(one->forward()))
      replaced.insert(one->name());
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

std::set<std::string> replaced_operators() { return progress().replaced; }

void take_turns(bool turns) { progress().turns = turns; }

Round end_round() {
  return {.number = progress().round++, .undecided = std::exchange(progress().undecided, false)};
}

std::vector<ChosenKernel> end_choice(int round) {
  progress().ended = true;
  for (auto* one : progress().operators) one->choose(round);
  if (progress().chooses) choose();
  progress().operators.clear();
  std::erase_if(registrations(),
                [](const auto& one) { return !progress().replaced.contains(one.first); });
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
