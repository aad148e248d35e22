#include "ops/profiler/flops.h"

#include <ATen/core/ivalue.h>

#include <map>
#include <string_view>
#include <vector>

#include "ops/profiler/match.h"
#include "ops/profiler/observe.h"

// RecordFunction::inputs() of a debug build asserts a flag that the release LibTorch never sets.
#ifndef NDEBUG
#error \
    "compile with -DNDEBUG (RelWithDebInfo or Release): LibTorch drops every op seen by a debug callback"
#endif

namespace fathom::ops {
namespace {

/// Calls that show which of several implementations LibTorch chose.
const std::map<std::string_view, std::string> kChoices{
    {"aten::_ctc_loss", "ctc:native"},
    {"aten::_cudnn_ctc_loss", "ctc:cudnn"},
    {"aten::mkldnn_rnn_layer", "lstm:onednn"},
};

/// What a call shows about the choice of an implementation; "" if nothing.
std::string choice_of(const ObservedCall& call) {
  if (call.name == "aten::_cudnn_rnn") {
    constexpr int64_t kGruMode = 3;  // CUDNN_GRU; no workload has a plain RNN
    return call.arguments[6].toInt() == kGruMode ? "gru:cudnn" : "lstm:cudnn";
  }
  const auto choice = kChoices.find(call.name);
  return choice == kChoices.end() ? "" : choice->second;
}

struct FlopCount {
  double flops = 0;
  double macs = 0;

  FlopCount& operator+=(const FlopCount& other) {
    flops += other.flops;
    macs += other.macs;
    return *this;
  }
};

/// The cost of the ops of a call. MACs count only in a forward pass.
FlopCount flop_count(const Match& found, bool backward) {
  FlopCount sum;
  for (const auto& op : found.ops) {
    if (found.type->op_class != OpClass::kMatrix && found.type->op_class != OpClass::kConvolution)
      continue;
    FieldLoader fields(op.fields);
    const Cost cost = found.type->make(fields, op.pass)->cost(fixtures::Precision::kFp32);
    sum += {cost.flops, backward ? 0 : cost.macs};
  }
  return sum;
}

/// Calls nest. A call counts what was counted inside it or, if that is nothing, its own cost.
class FlopsCounter final : public Observer {
 public:
  bool start(const Event& event) override {
    const bool node = event.what == Event::What::kNode;
    if (const std::string choice = choice_of(event.call); !choice.empty()) choices_.insert(choice);
    constexpr std::string_view kNamespace = "aten::";
    if (event.what != Event::What::kNode && event.call.name.starts_with(kNamespace)) {
      std::string name(event.call.name.substr(kNamespace.size()));
      if (!event.call.overload.empty()) name.append(".").append(event.call.overload);
      operators_.insert(std::move(name));
    }
    const Match found = matcher_.match(event);
    Open open;
    if (node && event.scope >= 0) {
      open.gradient = &gradients_[event.scope];
      if (!found.continues) open.gradient->own = flop_count(found, /*backward=*/true);
    } else {
      open.own = flop_count(found, event.call.backward);
    }
    open_.push_back(open);
    return false;
  }

  void end() override {
    const Open call = open_.back();
    open_.pop_back();
    const FlopCount counted = call.inside.flops > 0 ? call.inside : call.own;
    (open_.empty() ? total_ : open_.back().inside) += counted;
    if (call.gradient != nullptr) call.gradient->executed += counted;
  }

  StepFlops counted() const {
    FlopCount sum = total_;
    for (const auto& [scope, gradient] : gradients_) {
      if (gradient.executed.flops == 0) sum += gradient.own;
    }
    return {.flops = sum.flops, .macs = sum.macs, .choices = choices_, .operators = operators_};
  }

 private:
  /// The gradient of a scope, which may have several nodes.
  struct Gradient {
    FlopCount own;
    FlopCount executed;
  };
  struct Open {
    FlopCount own;
    FlopCount inside;
    Gradient* gradient = nullptr;
  };

  OpMatcher matcher_;
  std::map<int64_t, Gradient> gradients_;  ///< by scope
  std::vector<Open> open_;
  FlopCount total_;
  std::set<std::string> choices_;
  std::set<std::string> operators_;
};

}  // namespace

StepFlops count_flops(const std::function<void()>& step) {
  FlopsCounter counter;
  observe(counter, step, /*arguments=*/true);
  return counter.counted();
}

}  // namespace fathom::ops
