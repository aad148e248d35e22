#include "ops/profiler/flops.h"

#include <ATen/core/ivalue.h>

#include <map>
#include <string_view>
#include <utility>
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

bool is_dense(const OpType* type) {
  return type != nullptr &&
         (type->op_class == OpClass::kMatrix || type->op_class == OpClass::kConvolution);
}

/// Sums the ops that the recorder lists: the outermost ones that match.
class FlopsCounter final : public Observer {
 public:
  bool start(const Event& event) override {
    nested(event.call);
    const Match found = matcher_.match(event);
    const bool dense = is_dense(found.type);
    if (dense && !found.continues) add(found, event.call.backward);
    open_.push_back({.name = dense && found.ops.empty() ? event.call.name : std::string_view(),
                     .counted = dense && !found.ops.empty()});
    return !found.ops.empty();
  }

  void nested(const ObservedCall& call) override {
    if (const std::string choice = choice_of(call); !choice.empty()) step_.choices.insert(choice);
    constexpr std::string_view kNamespace = "aten::";
    if (!call.name.starts_with(kNamespace)) return;
    step_.operators.insert(operator_name(call));
  }

  void end() override {
    const Open call = open_.back();
    open_.pop_back();
    if (!call.name.empty() && !call.counted) step_.uncounted.emplace(call.name);
    if (!open_.empty() && call.counted) open_.back().counted = true;
  }

  StepFlops counted() && { return std::move(step_); }

 private:
  struct Open {
    std::string_view name;  ///< of a call of a dense type that gives no row; else empty
    bool counted;           ///< it, or a call inside it, gives rows
  };

  /// MACs count only in a forward pass.
  void add(const Match& found, bool backward) {
    for (const auto& op : found.ops) {
      FieldLoader fields(op.fields);
      const Cost cost = found.type->make(fields, op.pass)->cost(fixtures::Precision::kFp32);
      step_.flops += cost.flops;
      step_.macs += backward ? 0 : cost.macs;
    }
  }

  OpMatcher matcher_;
  std::vector<Open> open_;
  StepFlops step_;
};

}  // namespace

StepFlops count_flops(const std::function<void()>& step) {
  FlopsCounter counter;
  observe(counter, step, /*arguments=*/true);
  return std::move(counter).counted();
}

}  // namespace fathom::ops
