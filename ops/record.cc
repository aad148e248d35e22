#include "ops/record.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ops/kinds.h"
#include "ops/table.h"

namespace fathom::ops {
namespace {

constexpr std::string_view kAten = "aten::";
constexpr std::string_view kScope = "op:";

/// "block1.conv.weight" is of the layer "block1_conv".
std::string layer_of(const std::string& parameter) {
  std::string layer = parameter.substr(0, parameter.rfind('.'));
  std::replace(layer.begin(), layer.end(), '.', '_');
  return layer;
}

/// Follows what RecordFunction reports of one thread.
class Recorder {
 public:
  explicit Recorder(const NamedTensors& parameters) {
    for (const auto& [name, tensor] : parameters) {
      layers_[tensor.storage().unsafeGetStorageImpl()] = layer_of(name);
    }
  }

  void start(const at::RecordFunction& function) {
    if (!wanted(function)) return;
    if (inside_ > 0) {
      ++inside_;
      return;
    }
    if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
      start_node(function.seqNr());
    } else {
      start_op({.name = function.name(), .arguments = function.inputs(), .backward = in_node_});
    }
  }

  void end(const at::RecordFunction& function) {
    if (!wanted(function) || (inside_ > 0 && --inside_ > 0)) return;
    if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) in_node_ = false;
    if (function.scope() == at::RecordScope::USER_SCOPE) scopes_[scope_begin_].end = sequence();
  }

  std::vector<RecordedOp> recorded() && { return std::move(recorded_); }

 private:
  struct Scope {
    int64_t end;  ///< the first of autograd's numbers after it
    const OpType* type;
    std::string layer;
    std::vector<SeenOp> ops;
  };

  static bool wanted(const at::RecordFunction& function) {
    const std::string_view name = function.name();
    switch (function.scope()) {
      case at::RecordScope::FUNCTION:
        return name.starts_with(kAten);
      case at::RecordScope::USER_SCOPE:
        return name.starts_with(kScope);
      default:
        return true;
    }
  }

  /// The number that autograd gives to its next node.
  static int64_t sequence() { return static_cast<int64_t>(at::sequence_number::peek()); }

  void start_node(int64_t node) {
    const auto after = scopes_.upper_bound(node);
    Scope* owner = after == scopes_.begin() ? nullptr : &std::prev(after)->second;
    if (node >= 0) last_node_ = node;  // not where a gradient only arrives
    if (owner == nullptr || node >= owner->end) {
      in_node_ = true;
      return;
    }
    inside_ = 1;
    for (auto& op : owner->ops) {  // once for all its nodes
      op.pass = Pass::kBackward;
      add(owner->type, owner->layer, op);
    }
    owner->ops.clear();
  }

  void start_op(const Seen& seen) {
    const std::string layer = layer_at(seen.arguments);
    const bool scope = seen.name.starts_with(kScope);
    const OpKind* kind = kind_of(seen.name);
    const OpType* type = kind == nullptr ? nullptr : op_type(kind->name);
    const auto ops = type == nullptr ? std::vector<SeenOp>{} : type->recognise(seen);
    for (const auto& op : ops) add(type, layer, op);
    if (scope) {
      scope_begin_ = sequence();
      scopes_[scope_begin_] = {.end = scope_begin_, .type = type, .layer = layer, .ops = ops};
    }
    if (scope || !ops.empty()) inside_ = 1;
  }

  /// The layer of an op with these arguments: that of the largest parameter among them.
  std::string layer_at(c10::ArrayRef<const c10::IValue> arguments) {
    int64_t most = 0;
    const std::string* found = nullptr;
    const auto look = [&](const at::Tensor& tensor) {
      if (!tensor.defined() || !tensor.has_storage() || tensor.numel() <= most) return;
      const auto layer = layers_.find(tensor.storage().unsafeGetStorageImpl());
      if (layer == layers_.end()) return;
      most = tensor.numel();
      found = &layer->second;
    };
    for (const auto& argument : arguments) {
      if (argument.isTensor()) look(argument.toTensor());
      if (argument.isTensorList()) {
        for (const at::Tensor& tensor : argument.toTensorList()) look(tensor);
      }
    }
    if (found != nullptr) {
      if (!last_node_) by_sequence_[sequence()] = current_ = *found;
      return *found;
    }
    if (!last_node_) return current_;
    const auto after = by_sequence_.upper_bound(*last_node_);
    return after == by_sequence_.begin() ? current_ : std::prev(after)->second;
  }

  void add(const OpType* type, const std::string& layer, const SeenOp& op) {
    const auto same = std::find_if(recorded_.begin(), recorded_.end(), [&](const auto& one) {
      return one.type == type && one.op.pass == op.pass && one.op.fields == op.fields;
    });
    if (same != recorded_.end()) {
      ++same->count;
      return;
    }
    recorded_.push_back({.type = type,
                         .layer = op.pass == Pass::kUpdate ? "parameters" : layer,
                         .op = op,
                         .count = 1});
  }

  std::map<const c10::StorageImpl*, std::string> layers_;
  std::string current_ = "input";               ///< the last layer that the forward pass entered
  std::map<int64_t, std::string> by_sequence_;  ///< layers by autograd's number when entered
  std::map<int64_t, Scope> scopes_;             ///< by the first of autograd's numbers in them
  int64_t scope_begin_ = 0;                     ///< of the open one
  bool in_node_ = false;                        ///< of the backward pass
  std::optional<int64_t> last_node_;            ///< the last one that began
  int64_t inside_ = 0;  ///< open events of a recognised op or a scope, itself included
  std::vector<RecordedOp> recorded_;
};

/// RecordFunction takes plain function pointers, so what they write to cannot travel with them.
thread_local Recorder* recorder = nullptr;

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  recorder->start(function);
  return nullptr;
}

void on_end(const at::RecordFunction& function, at::ObserverContext* /*none*/) {
  recorder->end(function);
}

}  // namespace

std::vector<RecordedOp> record(const std::function<void()>& step, const NamedTensors& parameters) {
  Recorder here(parameters);
  struct Watch {
    at::CallbackHandle handle;
    explicit Watch(Recorder& target) {
      recorder = &target;
      handle = at::addThreadLocalCallback(
          at::RecordFunctionCallback(on_start, on_end)
              .needsInputs(true)
              .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                       at::RecordScope::USER_SCOPE}));
    }
    ~Watch() {
      at::removeCallback(handle);
      recorder = nullptr;
    }
  };
  {
    const Watch watch(here);
    step();
  }
  return std::move(here).recorded();
}

std::string shapes_json(const std::string& workload, const std::vector<RecordedOp>& train,
                        const std::vector<RecordedOp>& infer) {
  // Rows of a training step, then those that only inference has.
  std::vector<std::pair<RecordedOp, int64_t>> rows;  // with the count in inference
  for (const auto& op : train) rows.emplace_back(op, 0);
  for (const auto& op : infer) {
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
      return row.first.type == op.type && row.first.op.pass == op.op.pass &&
             row.first.op.fields == op.op.fields;
    });
    if (same != rows.end()) {
      same->second = op.count;
    } else {
      rows.emplace_back(op, op.count);
      rows.back().first.count = 0;
    }
  }
  std::set<std::string> names;
  std::string lines;
  for (const auto& counted : rows) {
    const RecordedOp& row = counted.first;
    std::string layer = row.layer;
    const auto name = [&] {
      return std::string(row.type->name) + '/' + layer + '/' + std::string(ops::name(row.op.pass));
    };
    for (int other = 2; !names.insert(name()).second; ++other) {
      layer = row.layer + '-' + std::to_string(other);
    }
    nlohmann::ordered_json line{
        {"op", row.type->name}, {"layer", layer}, {"pass", ops::name(row.op.pass)}};
    if (row.count > 0) line["count"] = row.count;
    if (counted.second > 0) line["infer_count"] = counted.second;
    line.update(row.op.fields);
    std::string text;
    for (const auto& [field, value] : line.items()) {
      text += (text.empty() ? "\"" : ", \"") + field + "\": " + value.dump();
    }
    lines += (lines.empty() ? "    {" : ",\n    {") + text + '}';
  }
  return "{\n  \"workload\": \"" + workload + "\",\n  \"rows\": [\n" + lines + "\n  ]\n}\n";
}

}  // namespace fathom::ops
