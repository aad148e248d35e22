#include "models/network/exported_program.h"

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "fixtures/files/data_error.h"
#include "fixtures/files/text.h"
#include "models/network/graph.h"
#include "models/network/module_tree.h"
#include "models/network/serialized_types.h"
#include "models/network/tensor_tree.h"

namespace fathom::models {
namespace {

using c10::IValue;
using nlohmann::json;

constexpr int kSchemaMajor = 8;  // SCHEMA_VERSION of torch/_export/serde/schema.py

/// The tensors of the archive's weights or constants by name, without those that only Python can
/// make.
class Tensors {
 public:
  /// `folder` is "data/weights/", `config` the member that describes what is in it.
  Tensors(const Archive& archive, std::string folder, const std::string& config)
      : archive_(archive), folder_(std::move(folder)) {
    if (archive.has(config)) config_ = archive.json(config).at("config");
  }

  bool has(const std::string& name) const { return config_.contains(name); }

  at::Tensor read(const std::string& name) {
    const json& entry = config_.at(name);
    const std::string member = folder_ + entry.at("path_name").get<std::string>();
    const auto known = read_.find(member + entry.at("tensor_meta").dump());
    if (known != read_.end()) return known->second;
    const at::Tensor tensor = entry.at("use_pickle").get<bool>()
                                  ? torch::jit::pickle_load(archive_.bytes(member)).toTensor()
                                  : of_bytes(name, member, entry.at("tensor_meta"));
    tensor.requires_grad_(entry.at("tensor_meta").at("requires_grad").get<bool>());
    return read_[member + entry.at("tensor_meta").dump()] = tensor;
  }

 private:
  at::Tensor of_bytes(const std::string& name, const std::string& member, const json& meta) {
    auto [known, is_new] = storages_.try_emplace(member);
    if (is_new) known->second = archive_.storage(member);
    const auto sizes = fixed_sizes(meta.at("sizes"));
    const auto strides = fixed_sizes(meta.at("strides"));
    const auto offset = meta.at("storage_offset").at("as_int").get<int64_t>();
    const auto type = scalar_type(meta.at("dtype"));
    expect_inside(name, sizes, strides, offset,
                  static_cast<int64_t>(known->second.nbytes() / at::elementSize(type)));
    return at::empty({0}, type).set_(known->second, offset, sizes, strides);
  }

  /// Throws unless all elements lie in a storage of `length` elements.
  static void expect_inside(const std::string& name, const std::vector<int64_t>& sizes,
                            const std::vector<int64_t>& strides, int64_t offset, int64_t length) {
    bool inside = sizes.size() == strides.size() && offset >= 0;
    bool is_empty = false;
    int64_t last = offset;
    for (std::size_t i = 0; inside && i < sizes.size(); ++i) {
      is_empty = is_empty || sizes[i] == 0;
      int64_t span = 0;
      inside = sizes[i] >= 0 && strides[i] >= 0 &&
               !__builtin_mul_overflow(std::max<int64_t>(sizes[i] - 1, 0), strides[i], &span) &&
               !__builtin_add_overflow(last, span, &last);
    }
    if (!inside || (!is_empty && last >= length)) {
      throw std::runtime_error("the tensor " + name + " is larger than its data, which have " +
                               fixtures::counted(length, "element"));
    }
  }

  const Archive& archive_;
  std::string folder_;
  json config_ = json::object();
  std::map<std::string, c10::Storage> storages_;  ///< by member
  std::map<std::string, at::Tensor> read_;        ///< by member and description
};

/// The leaves of a value in the order of a pytree's description: {"type": "builtins.tuple",
/// "context": ..., "children_spec": [...]}.
void flatten(const json& spec, const IValue& value, std::vector<IValue>& leaves) {
  if (spec.at("type").is_null()) return leaves.push_back(value);
  const std::string type = spec.at("type");
  const json& children = spec.at("children_spec");
  std::vector<IValue> parts;
  if (type == "builtins.tuple" && value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    parts.assign(elements.begin(), elements.end());
  } else if (type == "builtins.list" && value.isList()) {
    for (const IValue& one : value.toList()) parts.push_back(one);
  } else if (type == "builtins.dict" && value.isGenericDict()) {
    const auto dict = value.toGenericDict();
    for (const auto& key : json::parse(spec.at("context").get<std::string>()))
      parts.push_back(dict.at(IValue(key.get<std::string>())));
  } else {
    throw std::runtime_error("they are of Python's type " + type);
  }
  if (parts.size() != children.size()) throw std::runtime_error("they don't fit the graph");
  for (std::size_t i = 0; i < parts.size(); ++i) flatten(children[i], parts[i], leaves);
}

/// A dimension of an input: a number, or a symbol such as "s77".
struct Dimension {
  std::optional<int64_t> size;
  std::string symbol;  ///< "": none, or a formula of several

  explicit Dimension(int64_t fixed) : size(fixed) {}
  explicit Dimension(const json& record) {
    if (record.contains("as_int")) {
      size = record.at("as_int").get<int64_t>();
      return;
    }
    const std::string formula = record.at("as_expr").at("expr_str");
    constexpr std::string_view kSymbol = "Symbol('";
    if (!formula.starts_with(kSymbol) || formula.find("Symbol", 1) != std::string::npos) return;
    symbol = formula.substr(kSymbol.size(), formula.find('\'', kSymbol.size()) - kSymbol.size());
  }
};

/// As in "?x3x224x224".
std::string text(const std::vector<Dimension>& sizes) {
  std::string joined;
  for (const Dimension& one : sizes) {
    if (!joined.empty()) joined += 'x';
    joined += one.size ? std::to_string(*one.size) : "?";
  }
  return joined;
}

class ExportedProgram final : public Network {
 public:
  ExportedProgram(const Archive& archive, const std::string& name, const json& program,
                  const std::optional<IValue>& arguments)
      : graph_(program.at("graph_module").at("graph")) {
    const json& module = program.at("graph_module");
    const json& graph = module.at("graph");
    const json& signature = module.at("signature");
    read_inputs(archive, name, signature.at("input_specs"), graph);
    for (const auto& spec : signature.at("output_specs")) outputs_.push_back(output(spec));
    if (outputs_.size() != graph.at("outputs").size())
      throw std::runtime_error("the signature has another number of outputs than the graph");
    read_batches(program.value("range_constraints", json::object()));
    if (arguments) {
      inputs_ = tensors_in(*arguments);
    } else {
      read_sample(archive, name, module);
    }
    if (!inputs_.empty()) expect_inputs();
  }

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) override {
    const at::Device device = inputs.empty() ? at::Device(at::kCPU) : inputs[0].device();
    if (device != device_) graph_.move_to(device_ = device);
    std::vector<IValue> values = bound_;
    for (std::size_t i = 0; i < inputs.size(); ++i) values[expected_[i].index] = inputs[i];
    const std::vector<IValue> results = graph_.run(std::move(values));
    std::vector<at::Tensor> tensors;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (!results[i].isTensor()) continue;
      const at::Tensor& result = results[i].toTensor();
      if (outputs_[i].user) {
        tensors.push_back(result);
      } else if (outputs_[i].changed >= 0) {
        change(bound_[static_cast<std::size_t>(outputs_[i].changed)], inputs, outputs_[i], result);
      }
    }
    return tensors;
  }

  torch::nn::Module& module() override { return *tree_; }
  const std::vector<at::Tensor>& inputs() const override { return inputs_; }
  BatchRange batches() const override { return batches_; }

 private:
  struct ExpectedInput {
    std::string name;
    std::size_t index;  ///< in the inputs of the graph
    at::ScalarType type;
    std::vector<Dimension> sizes;
  };

  struct Output {
    bool user;         ///< a result of the network
    int changed = -1;  ///< index of the graph's input that gets its value
  };

  void read_inputs(const Archive& archive, const std::string& name, const json& specs,
                   const json& graph) {
    Tensors weights(archive, "data/weights/", "data/weights/" + name + "_weights_config.json");
    Tensors constants(archive, "data/constants/",
                      "data/constants/" + name + "_constants_config.json");
    if (specs.size() != graph_.inputs().size())
      throw std::runtime_error("the signature has another number of inputs than the graph");
    const auto read = [&](const std::string& tensor) {
      if (weights.has(tensor)) return weights.read(tensor);
      if (constants.has(tensor)) return constants.read(tensor);
      throw std::runtime_error("the file has no tensor " + tensor);
    };
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const std::string& kind = specs[i].begin().key();
      const json& spec = specs[i].begin().value();
      IValue& value = bound_.emplace_back();
      if (kind == "user_input") {
        is_tensor_.push_back(spec.at("arg").contains("as_tensor"));
        if (!is_tensor_.back()) continue;  // None, or a number that the graph holds
        const std::string input = spec.at("arg").at("as_tensor").at("name");
        const json& meta = graph.at("tensor_values").at(input);
        std::vector<Dimension> sizes;
        for (const auto& size : meta.at("sizes")) sizes.emplace_back(size);
        expected_.push_back({input, i, scalar_type(meta.at("dtype")), std::move(sizes)});
      } else if (kind == "constant_input") {
        is_tensor_.push_back(false);
      } else if (kind == "parameter") {
        const std::string parameter = spec.at("parameter_name");
        value = read(parameter);
        tree_->add_parameter(parameter, value.toTensor());
        names_[parameter] = static_cast<int>(i);
      } else if (kind == "buffer" || kind == "tensor_constant") {
        const std::string buffer =
            spec.at(kind == "buffer" ? "buffer_name" : "tensor_constant_name");
        value = read(buffer);
        tree_->add_buffer(buffer, value.toTensor());
        names_[buffer] = static_cast<int>(i);
      } else {
        throw std::runtime_error("an input of the graph is of the kind " + kind +
                                 ", which cannot be run here");
      }
    }
  }

  Output output(const json& record) const {
    const std::string& kind = record.begin().key();
    const json& spec = record.begin().value();
    if (kind == "user_output" || kind == "loss_output") return {.user = true};
    if (kind == "token") return {.user = false};
    std::string changed;
    if (kind == "buffer_mutation") changed = spec.at("buffer_name");
    if (kind == "parameter_mutation") changed = spec.at("parameter_name");
    if (kind == "user_input_mutation") {
      changed = spec.at("user_input_name");
      for (const auto& input : expected_) {
        if (input.name == changed) return {.user = false, .changed = static_cast<int>(input.index)};
      }
    }
    const auto found = names_.find(changed);
    if (found == names_.end()) {
      throw std::runtime_error("an output of the graph is of the kind " + kind +
                               ", which cannot be run here");
    }
    return {.user = false, .changed = found->second};
  }

  void change(const IValue& bound, const std::vector<at::Tensor>& inputs, const Output& output,
              const at::Tensor& result) const {
    const c10::AutoGradMode no_gradient(false);
    at::Tensor changed;
    if (bound.isTensor()) changed = bound.toTensor();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (static_cast<int>(expected_[i].index) == output.changed) changed = inputs[i];
    }
    changed.copy_(result.detach());
  }

  /// Throws where the network does not take inputs of these sizes and types.
  void expect_inputs() const {
    if (inputs_.size() != expected_.size()) {
      throw std::runtime_error("found " + fixtures::counted(std::ssize(inputs_), "input") +
                               ", expected " + std::to_string(expected_.size()));
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const ExpectedInput& input = expected_[i];
      const auto sizes = inputs_[i].sizes();
      const auto takes = [](const Dimension& dimension, int64_t size) {
        return !dimension.size || *dimension.size == size;
      };
      if (inputs_[i].scalar_type() == input.type &&
          std::equal(input.sizes.begin(), input.sizes.end(), sizes.begin(), sizes.end(), takes)) {
        continue;
      }
      const std::vector<Dimension> found(sizes.begin(), sizes.end());
      std::ostringstream what;
      what << "input " << input.name << ": found " << inputs_[i].scalar_type() << ' ' << text(found)
           << ", expected " << input.type << ' ' << text(input.sizes);
      throw std::runtime_error(what.str());
    }
  }

  void read_batches(const json& ranges) {
    std::optional<std::string> symbol;
    for (const auto& input : expected_) {
      if (input.sizes.empty()) continue;
      const Dimension& first = input.sizes[0];
      if (!symbol) symbol = first.symbol;
      if (first.symbol.empty() || first.symbol != *symbol) return fix_batch();
    }
    if (!symbol) return fix_batch();
    const json range = ranges.value(*symbol, json::object());
    const auto limit = [&](const char* name, int64_t& value) {
      if (range.contains(name) && range.at(name).is_number_integer()) value = range.at(name);
    };
    limit("min_val", batches_.least);
    limit("max_val", batches_.most);
    batches_.least = std::max<int64_t>(batches_.least, 1);
  }

  /// Only the batch size of the export.
  void fix_batch() {
    for (const auto& input : expected_) {
      if (input.sizes.empty()) continue;
      batches_.least = batches_.most = input.sizes[0].size.value_or(1);
      return;
    }
    batches_.most = 1;
  }

  void read_sample(const Archive& archive, const std::string& name, const json& module) {
    const std::string member = "data/sample_inputs/" + name + ".pt";
    if (!archive.has(member)) return;
    const json& signature = module.at("module_call_graph").at(0).at("signature");
    const json spec = json::parse(signature.at("in_spec").get<std::string>()).at(1);
    std::vector<IValue> leaves;
    try {
      flatten(spec, torch::jit::pickle_load(archive.bytes(member)), leaves);
    } catch (const std::exception&) {
      return;  // objects of Python's classes
    }
    if (leaves.size() != is_tensor_.size()) return;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (is_tensor_[i] && leaves[i].isTensor()) inputs_.push_back(leaves[i].toTensor());
    }
  }

  Graph graph_;
  std::shared_ptr<ModuleTree> tree_ = std::make_shared<ModuleTree>();
  std::vector<IValue> bound_;  ///< of the graph's inputs: weights, and none for the network's own
  std::map<std::string, int> names_;  ///< of weights: the index of the graph's input
  std::vector<ExpectedInput> expected_;
  std::vector<bool> is_tensor_;  ///< of each leaf of the network's arguments
  std::vector<Output> outputs_;
  std::vector<at::Tensor> inputs_;
  BatchRange batches_;
  at::Device device_ = at::kCPU;
};

}  // namespace

std::unique_ptr<Network> read_exported_program(const Archive& archive,
                                               const std::optional<IValue>& arguments) {
  const std::string name = archive.names_in("models/", ".json").at(0);
  const json program = archive.json("models/" + name + ".json");
  try {
    const int major = program.at("schema_version").at("major");
    if (major != kSchemaMajor) {
      archive.fail("schema version " + std::to_string(major) + " of PyTorch " +
                   program.value("torch_version", "(unknown)") + ", expected " +
                   std::to_string(kSchemaMajor));
    }
    return std::make_unique<ExportedProgram>(archive, name, program, arguments);
  } catch (const json::exception& error) {
    archive.fail("models/" + name + ".json: " + error.what() +
                 ", expected what torch.export writes");
  } catch (const c10::Error& error) {
    archive.fail(fixtures::first_line(error.what_without_backtrace()) + ", expected a whole file");
  } catch (const fixtures::DataError&) {
    throw;
  } catch (const std::runtime_error& error) {
    archive.fail(error.what());
  }
}

}  // namespace fathom::models
