#include "models/network/graph.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

#include "fixtures/files/text.h"
#include "models/autocast.h"
#include "models/network/scalar_functions.h"
#include "models/network/serialized_types.h"
#include "models/network/unknown_operator.h"

namespace fathom::models {

using c10::IValue;
using nlohmann::json;
using torch::jit::Stack;

namespace {

/// Checks of what the export assumed. They have no result, and some of them name the type or the
/// device of the export, which autocast and move_to() change.
bool is_assertion(std::string_view target) {
  constexpr std::string_view kAssert = "torch.ops.aten._assert_";
  constexpr std::string_view kConstrain = "torch.ops.aten.sym_constrain_range";
  return target.starts_with(kAssert) || target.starts_with(kConstrain);
}

/// The path of a layer, "encoder.layer.0": that of the innermost module in
/// "L__self__,,Net;L__self___fc,fc,torch.nn.modules.linear.Linear". "" outside of all.
std::string layer_of(const json& node) {
  const auto metadata = node.find("metadata");
  if (metadata == node.end()) return {};
  const std::string stack = metadata->value("nn_module_stack", "");
  const auto innermost = fixtures::split(stack, ';').back();
  const auto parts = fixtures::split(innermost, ',');
  return parts.size() < 3 ? std::string() : std::string(parts[1]);
}

/// "node conv2d (aten.conv2d.default, layer features.0)".
std::string place_of(const json& node) {
  std::string target = node.at("target").get<std::string>();
  constexpr std::string_view kPrefix = "torch.ops.";
  if (target.starts_with(kPrefix)) target.erase(0, kPrefix.size());
  const json name = node.value("name", json());
  const std::string layer = layer_of(node);
  return "node " + (name.is_string() ? name.get<std::string>() + ' ' : std::string()) + '(' +
         target + (layer.empty() ? "" : ", layer " + layer) + ')';
}

/// A number as an operand of tensors: it does not decide the type of the result.
at::Tensor number_tensor(const at::Scalar& number) {
  at::Tensor tensor = c10::scalar_to_tensor(number);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

/// The only member of a record that is one of several kinds: {"as_int": 3}.
std::pair<std::string, const json&> member_of(const json& record) {
  if (!record.is_object() || record.size() != 1)
    throw std::runtime_error("found " + record.dump().substr(0, 60) + ", expected one member");
  return {record.begin().key(), *record.begin()};
}

}  // namespace

/// A constant, a value of the graph, or a list with values.
struct Graph::Argument {
  IValue constant = {};
  int slot = -1;           ///< of a value; -1: none
  bool is_last = false;    ///< nothing reads the value after this
  bool as_tensor = false;  ///< a number where the operator takes a tensor
  std::vector<Argument> items = {};
  c10::TypePtr element = nullptr;  ///< of a list

  /// Moves values out of `slots` at their last use.
  IValue take(std::vector<IValue>& slots) const {
    if (slot >= 0) {
      IValue& value = slots[static_cast<std::size_t>(slot)];
      if (as_tensor) return number_tensor(value.toScalar());
      return is_last ? std::move(value) : value;
    }
    if (element == nullptr) return constant;
    c10::impl::GenericList list(element);
    list.reserve(items.size());
    for (const auto& item : items) list.push_back(item.take(slots));
    return list;
  }

  /// Calls `visit` with each argument that is a value or a constant.
  void for_each(const std::function<void(Argument&)>& visit) {
    if (element == nullptr) return visit(*this);
    for (auto& item : items) item.for_each(visit);
  }
};

struct Graph::Node {
  std::string place;
  std::function<void(Stack&)> call;
  std::vector<Argument> arguments;
  /// The places of each result; of a list, those of its elements. -1: nothing reads it.
  std::vector<std::vector<int>> results;
  std::vector<bool> is_list;
  std::shared_ptr<Graph> region;  ///< that the call runs; null: none
};

class Graph::Reader {
 public:
  explicit Reader(Graph& graph) : graph_(graph) {}

  void read(const json& graph) {
    for (const auto& input : graph.at("inputs")) {
      const auto [kind, value] = member_of(input);
      graph_.inputs_.push_back(name_in(kind, value));
      graph_.input_slots_.push_back(define(graph_.inputs_.back()));
    }
    for (const auto& node : graph.at("nodes")) {
      if (is_assertion(node.at("target").get_ref<const std::string&>())) continue;
      const std::string place = place_of(node);
      try {
        graph_.nodes_.push_back(read_node(node));
      } catch (const std::exception& error) {
        throw std::runtime_error(place + ": " + fixtures::first_line(error.what()));
      }
      graph_.nodes_.back().place = place;
    }
    for (const auto& output : graph.at("outputs")) graph_.outputs_.push_back(argument(output));
    graph_.slots_ = static_cast<int>(slots_.size());
    mark_last_uses();
  }

 private:
  /// The name of a value that an input or a result defines.
  static std::string name_in(const std::string& kind, const json& value) {
    if (kind == "as_tensor" || kind == "as_custom_obj") return value.at("name");
    if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool")
      return value.at("as_name");
    if (kind == "as_optional_tensor" && value.contains("as_tensor"))
      return value.at("as_tensor").at("name");
    return {};  // a constant
  }

  int define(const std::string& name) {
    if (name.empty()) return -1;
    const auto [place, added] = slots_.emplace(name, slots_.size());
    if (!added) throw std::runtime_error("the value " + name + " is defined twice");
    return static_cast<int>(place->second);
  }

  Argument value(const std::string& name) const {
    const auto found = slots_.find(name);
    if (found == slots_.end()) throw std::runtime_error("no node before it gives " + name);
    return {.slot = static_cast<int>(found->second)};
  }

  static Argument constant(IValue constant) { return {.constant = std::move(constant)}; }

  /// A list of what `item` makes of each element of `values`.
  template <typename Item>
  static Argument list(const json& values, c10::TypePtr element, Item item) {
    Argument list{.element = std::move(element)};
    bool is_constant = true;
    for (const auto& one : values) {
      list.items.push_back(item(one));
      is_constant = is_constant && list.items.back().slot < 0;
    }
    std::vector<IValue> none;
    return is_constant ? constant(list.take(none)) : list;
  }

  /// {"as_name": "s0"} or {"as_int": 3}.
  Argument symbol(const json& record) const {
    const auto [kind, of_kind] = member_of(record);
    return kind == "as_name" ? value(of_kind.get<std::string>()) : argument(record);
  }

  /// An argument whose schema asks for `type`; null: any.
  Argument argument(const json& record, const c10::TypePtr& type = nullptr) const {
    const auto [kind, of_kind] = member_of(record);
    if (type != nullptr && type->kind() == c10::TypeKind::OptionalType)
      return argument(record, type->expect<c10::OptionalType>()->getElementType());
    const bool wants_list = type != nullptr && type->kind() == c10::TypeKind::ListType;
    if (wants_list && of_kind.is_array()) {
      const auto element = type->expect<c10::ListType>()->getElementType();
      return list(of_kind, element,
                  [&](const json& one) { return element_of(kind, one, element); });
    }
    if (wants_list && kind != "as_none" && kind != "as_tensor") {  // a number for int[2]
      const auto element = type->expect<c10::ListType>()->getElementType();
      return list(json::array({record}), element,
                  [&](const json& one) { return argument(one, element); });
    }
    if (type != nullptr && type->kind() == c10::TypeKind::TensorType &&
        (kind == "as_int" || kind == "as_float" || kind == "as_bool" ||
         kind.starts_with("as_sym"))) {
      Argument number = argument(record);
      number.as_tensor = true;
      if (number.slot < 0) number.constant = number_tensor(number.constant.toScalar());
      return number;
    }
    if (kind == "as_none") return constant(IValue());
    if (kind == "as_tensor") return value(of_kind.at("name"));
    if (kind == "as_int" && type != nullptr && type->kind() == c10::TypeKind::FloatType)
      return constant(real(of_kind));
    if (kind == "as_int") return constant(of_kind.get<int64_t>());
    if (kind == "as_float") return constant(real(of_kind));
    if (kind == "as_bool") return constant(of_kind.get<bool>());
    if (kind == "as_string") return constant(of_kind.get<std::string>());
    if (kind == "as_scalar_type") return constant(static_cast<int64_t>(scalar_type(of_kind)));
    if (kind == "as_layout") return constant(static_cast<int64_t>(layout(of_kind)));
    if (kind == "as_memory_format") return constant(static_cast<int64_t>(memory_format(of_kind)));
    if (kind == "as_device") return constant(device(of_kind));
    if (kind == "as_optional_tensor") return argument(of_kind);
    if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool")
      return symbol(of_kind);
    throw std::runtime_error("an argument is of the kind " + kind + ", which cannot be run here");
  }

  /// An element of the list `kind`, such as "as_tensors".
  Argument element_of(const std::string& kind, const json& one, const c10::TypePtr& type) const {
    if (kind == "as_tensors") return value(one.at("name"));
    if (kind == "as_optional_tensors") return argument(one);
    if (kind == "as_sym_ints" || kind == "as_sym_floats" || kind == "as_sym_bools")
      return symbol(one);
    constexpr std::string_view kSingular = "as_ints as_floats as_bools as_strings";
    if (kSingular.find(kind) == std::string_view::npos)
      throw std::runtime_error("an argument is of the kind " + kind + ", which cannot be run here");
    return argument({{kind.substr(0, kind.size() - 1), one}}, type);
  }

  Node read_node(const json& node) {
    const std::string target = node.at("target");
    Node made;
    if (const ScalarFunction function = scalar_function(target)) {
      made.call = function;
      for (const auto& input : node.at("inputs"))
        made.arguments.push_back(argument(input.at("arg")));
    } else if (target.starts_with("torch.ops.higher_order.")) {
      read_region(made, target, node.at("inputs"));
    } else {
      read_call(made, target, node.at("inputs"));
    }
    for (const auto& output : node.at("outputs")) {
      const auto [kind, value] = member_of(output);
      made.is_list.push_back(kind == "as_tensors" || kind == "as_optional_tensors");
      std::vector<int>& slots = made.results.emplace_back();
      if (!made.is_list.back()) {
        slots.push_back(define(name_in(kind, value)));
        continue;
      }
      for (const auto& one : value) {
        slots.push_back(define(kind == "as_tensors" ? one.at("name").get<std::string>()
                                                    : name_in("as_optional_tensor", one)));
      }
    }
    return made;
  }

  /// "torch.ops.aten.add.Tensor".
  void read_call(Node& made, const std::string& target, const json& inputs) {
    const auto parts = fixtures::split(target, '.');
    if (parts.size() != 5 || !target.starts_with("torch.ops."))
      throw std::runtime_error("a call of Python's " + target + ", which cannot be run here");
    const c10::OperatorName name(std::string(parts[2]) + "::" + std::string(parts[3]),
                                 parts[4] == "default" ? "" : std::string(parts[4]));
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op) throw std::runtime_error(unknown_operator(c10::toString(name)));
    std::map<std::string, const json*> given;
    for (const auto& input : inputs) given.emplace(input.at("name"), &input.at("arg"));
    for (const auto& one : op->schema().arguments()) {
      const auto found = given.find(one.name());
      if (found != given.end()) {
        made.arguments.push_back(argument(*found->second, one.type()));
        given.erase(found);
      } else if (one.default_value()) {
        made.arguments.push_back(constant(*one.default_value()));
      } else {
        throw std::runtime_error("the argument " + one.name() + " is missing");
      }
    }
    if (!given.empty())
      throw std::runtime_error("the operator has no argument " + given.begin()->first);
    made.call = [op = *op](Stack& stack) { op.callBoxed(stack); };
  }

  /// A part of the network in which gradients or autocast are on or off.
  void read_region(Node& made, const std::string& target, const json& inputs) {
    const auto graph = std::find_if(inputs.begin(), inputs.end(), [](const json& input) {
      return input.at("arg").contains("as_graph");
    });
    const auto head = [&](std::size_t i) -> const json& {
      return member_of(inputs.at(i).at("arg")).second;
    };
    const std::string name = target.substr(target.rfind('.') + 1);
    const bool is_gradient = name == "wrap_with_set_grad_enabled";
    if ((!is_gradient && name != "wrap_with_autocast") || graph == inputs.end())
      throw std::runtime_error("the higher-order operator " + name + " cannot be run here");
    const auto region = std::make_shared<Graph>(member_of(graph->at("arg")).second.at("graph"));
    const auto run = [region](Stack& stack) {
      std::vector<IValue> outputs = region->run(std::move(stack));
      stack = std::move(outputs);
    };
    if (is_gradient) {
      made.call = [run, enabled = head(0).get<bool>()](Stack& stack) {
        const c10::AutoGradMode mode(enabled);
        run(stack);
      };
    } else {
      const auto device = at::Device(head(0).get<std::string>()).type();
      const auto type = member_of(inputs.at(1).at("arg"));
      const auto precision = type.first == "as_scalar_type"
                                 ? scalar_type(type.second)
                                 : at::autocast::get_autocast_dtype(device);
      made.call = [run, device, enabled = head(2).get<bool>(), precision](Stack& stack) {
        const Autocast autocast(device, enabled, precision);
        run(stack);
      };
    }
    for (auto input = graph + 1; input != inputs.end(); ++input)
      made.arguments.push_back(argument(input->at("arg")));
    if (made.arguments.size() != region->inputs().size())
      throw std::runtime_error("a region gets another number of values than it takes");
    made.region = region;
  }

  /// From the end, in the reverse of the order in which run() takes values: the first reader found
  /// of each value is its last.
  void mark_last_uses() {
    std::set<int> read;
    const auto mark = [&](std::vector<Argument>& arguments) {
      std::vector<Argument*> parts;
      for (auto& one : arguments) one.for_each([&](Argument& part) { parts.push_back(&part); });
      std::for_each(parts.rbegin(), parts.rend(), [&](Argument* part) {
        if (part->slot >= 0) part->is_last = read.insert(part->slot).second;
      });
    };
    mark(graph_.outputs_);
    for (auto node = graph_.nodes_.rbegin(); node != graph_.nodes_.rend(); ++node) {
      for (auto& result : node->results) {
        for (int& slot : result) {
          if (!read.contains(slot)) slot = -1;
        }
      }
      mark(node->arguments);
    }
    for (int& slot : graph_.input_slots_) {
      if (!read.contains(slot)) slot = -1;
    }
  }

  Graph& graph_;
  std::map<std::string, std::size_t> slots_;
};

Graph::Graph(const json& graph) { Reader(*this).read(graph); }
Graph::~Graph() = default;

std::vector<IValue> Graph::run(std::vector<IValue> inputs) const {
  std::vector<IValue> slots(static_cast<std::size_t>(slots_));
  const auto keep = [&](int slot, IValue value) {
    if (slot >= 0) slots[static_cast<std::size_t>(slot)] = std::move(value);
  };
  for (std::size_t i = 0; i < input_slots_.size(); ++i) keep(input_slots_[i], std::move(inputs[i]));
  Stack stack;
  for (const auto& node : nodes_) {
    stack.clear();
    for (const auto& argument : node.arguments) stack.push_back(argument.take(slots));
    try {
      node.call(stack);
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const c10::Error& error) {
      throw std::runtime_error(node.place + ": " +
                               fixtures::first_line(error.what_without_backtrace()));
    }
    const auto expect = [&](bool fits) {
      if (!fits) throw std::runtime_error(node.place + ": gives other results than the graph says");
    };
    expect(stack.size() >= node.results.size());
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (!node.is_list[i]) {
        keep(node.results[i][0], std::move(stack[i]));
        continue;
      }
      expect(stack[i].isList());
      const auto list = stack[i].toList();
      expect(list.size() == node.results[i].size());
      for (std::size_t j = 0; j < list.size(); ++j) keep(node.results[i][j], list.get(j));
    }
  }
  std::vector<IValue> outputs;
  for (const auto& output : outputs_) outputs.push_back(output.take(slots));
  return outputs;
}

void Graph::move_to(at::Device device) {
  for (auto& node : nodes_) {
    if (node.region != nullptr) node.region->move_to(device);
    for (auto& argument : node.arguments) {
      argument.for_each([&](Argument& one) {
        if (one.constant.isDevice()) one.constant = device;
      });
    }
  }
}

}  // namespace fathom::models
