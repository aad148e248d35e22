#include "ops/profiler/record.h"

#include <ATen/core/ivalue.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ops/profiler/match.h"
#include "ops/profiler/observe.h"

namespace fathom::ops {
namespace {

/// The layer of a parameter: "block1_conv" for "block1.conv.weight".
std::string layer_of(const std::string& parameter) {
  std::string layer = parameter.substr(0, parameter.rfind('.'));
  std::replace(layer.begin(), layer.end(), '.', '_');
  return layer;
}

/// The one of `ops` with the type, pass and shape of `op`.
auto find_same(auto& ops, const RecordedOp& op) {
  return std::find_if(ops.begin(), ops.end(), [&](const RecordedOp& one) {
    return one.type == op.type && one.op.pass == op.op.pass && one.op.fields == op.op.fields;
  });
}

/// Lists the ops of one thread.
class Recorder final : public Observer {
 public:
  explicit Recorder(const NamedTensors& parameters) {
    for (const auto& [name, tensor] : parameters) {
      layers_[tensor.storage().unsafeGetStorageImpl()] = layer_of(name);
    }
  }

  bool start(const Event& event) override {
    const Match found = matcher_.match(event);
    if (event.what == Event::What::kNode) {
      // The number is negative for a node that only accumulates a gradient.
      if (event.node >= 0) last_node_ = event.node;
      if (event.scope >= 0 && !found.continues) add(found, scope_layers_.at(event.scope));
      return false;
    }
    const std::string layer = layer_at(event);
    if (event.what == Event::What::kScope) scope_layers_[event.scope] = layer;
    add(found, layer);
    return !found.ops.empty();
  }

  std::vector<RecordedOp> recorded() && { return std::move(recorded_); }

 private:
  void add(const Match& found, const std::string& layer) {
    for (const auto& op : found.ops) {
      add({.type = found.type, .layer = layer, .op = op, .count = 1});
    }
  }

  /// The layer of an op: that of the largest parameter among its arguments.
  std::string layer_at(const Event& event) {
    int64_t largest = 0;
    const std::string* found = nullptr;
    const auto look = [&](const at::Tensor& tensor) {
      if (!tensor.defined() || !tensor.has_storage() || tensor.numel() <= largest) return;
      const auto layer = layers_.find(tensor.storage().unsafeGetStorageImpl());
      if (layer == layers_.end()) return;
      largest = tensor.numel();
      found = &layer->second;
    };
    for (const auto& argument : event.call.arguments) {
      if (argument.isTensor()) look(argument.toTensor());
      if (argument.isTensorList()) {
        for (const at::Tensor& tensor : argument.toTensorList()) look(tensor);
      }
    }
    if (found != nullptr) {
      if (!last_node_) by_node_[event.node] = current_ = *found;
      return *found;
    }
    if (!last_node_) return current_;
    const auto after = by_node_.upper_bound(*last_node_);
    return after == by_node_.begin() ? current_ : std::prev(after)->second;
  }

  void add(RecordedOp op) {
    const auto same = find_same(recorded_, op);
    if (same != recorded_.end()) {
      ++same->count;
      return;
    }
    if (op.op.pass == Pass::kUpdate) op.layer = "parameters";
    recorded_.push_back(std::move(op));
  }

  std::map<const c10::StorageImpl*, std::string> layers_;
  std::string current_ = "input";                ///< the last layer that the forward pass entered
  std::map<int64_t, std::string> by_node_;       ///< layers by autograd's next node at their begin
  std::map<int64_t, std::string> scope_layers_;  ///< by number
  std::optional<int64_t> last_node_;             ///< the last one that began in the backward pass
  std::vector<RecordedOp> recorded_;
  OpMatcher matcher_;
};

}  // namespace

std::vector<RecordedOp> record(const std::function<void()>& step, const NamedTensors& parameters) {
  Recorder recorder(parameters);
  observe(recorder, step, /*arguments=*/true);
  return std::move(recorder).recorded();
}

std::string shapes_json(const std::string& workload, const std::vector<RecordedOp>& train,
                        const std::vector<RecordedOp>& infer,
                        const std::vector<int64_t>& gradient_buckets) {
  auto rows = train;  // then the ops that only inference runs
  for (const auto& op : infer) {
    if (find_same(train, op) != train.end()) continue;
    rows.push_back(op);
    rows.back().count = 0;
  }
  std::set<std::string> names;
  std::string lines;
  for (const auto& row : rows) {
    std::string layer = row.layer;
    const auto name = [&] {
      return std::string(row.type->name) + '/' + layer + '/' + std::string(ops::name(row.op.pass));
    };
    for (int other = 2; !names.insert(name()).second; ++other) {
      layer = row.layer + '-' + std::to_string(other);
    }
    std::string text = "\"op\": \"" + std::string(row.type->name) + "\", \"layer\": \"" + layer +
                       "\", \"pass\": \"" + std::string(ops::name(row.op.pass)) + '"';
    const auto add = [&](const std::string& field, const FieldValue& value) {
      text += ", \"" + field + "\": " + json_text(value);
    };
    if (row.count > 0) add("count", row.count);
    const auto inferred = find_same(infer, row);
    if (inferred != infer.end()) add("infer_count", inferred->count);
    for (const auto& [field, value] : row.op.fields) add(field, value);
    lines += (lines.empty() ? "    {" : ",\n    {") + text + '}';
  }
  std::string buckets;
  for (const int64_t elements : gradient_buckets) {
    buckets += (buckets.empty() ? "" : ",") + std::to_string(elements);
  }
  if (!buckets.empty()) buckets = "  \"gradient_buckets\": [" + buckets + "],\n";
  return "{\n  \"workload\": \"" + workload + "\",\n" + buckets + "  \"rows\": [\n" + lines +
         "\n  ]\n}\n";
}

}  // namespace fathom::ops
