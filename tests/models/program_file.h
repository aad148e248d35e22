#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace fathom::tests {

using Json = nlohmann::json;

/// A file as torch.export.save writes it, with the parts that a reader needs.
class ProgramFile {
 public:
  /// Arguments of a call by name.
  using Arguments = std::vector<std::pair<std::string, Json>>;

  static Json value(const std::string& name) { return {{"as_tensor", {{"name", name}}}}; }

  void parameter(const std::string& name, const at::Tensor& tensor) {
    add_weight("parameter", name, tensor.clone(), /*requires_grad=*/true);
  }
  void buffer(const std::string& name, const at::Tensor& tensor) {
    add_weight("buffer", name, tensor.clone(), /*requires_grad=*/false);
  }

  /// An input with its sample; with a `symbol`, dimension 0 may have other sizes.
  void input(const std::string& name, const at::Tensor& sample, const std::string& symbol = {}) {
    graph["inputs"].push_back(value(name));
    Json meta = meta_of(sample, false);
    if (!symbol.empty())
      meta["sizes"][0] = {{"as_expr", {{"expr_str", "Symbol('" + symbol + "', integer=True)"}}}};
    graph["tensor_values"][name] = meta;
    inputs["input_specs"].push_back({{"user_input", {{"arg", value(name)}}}});
    samples_.emplace_back(sample);
  }

  /// `target` is "aten.relu.default"; the call gives `output` and belongs to the module `layer`.
  void call(const std::string& target, const Arguments& arguments, const std::string& output,
            const std::string& layer = {}) {
    graph["nodes"].push_back(node(target, arguments, output, layer));
  }

  static Json node(const std::string& target, const Arguments& arguments, const std::string& output,
                   const std::string& layer = {}) {
    Json inputs = Json::array();
    for (const auto& [name, argument] : arguments)
      inputs.push_back({{"name", name}, {"arg", argument}, {"kind", 1}});
    return {{"target", "torch.ops." + target},
            {"inputs", inputs},
            {"outputs", Json::array({value(output)})},
            {"name", "node"},
            {"metadata", {{"nn_module_stack", "L__self__,,Net;L__self___x," + layer + ",Layer"}}}};
  }

  void output(const std::string& name) {
    graph["outputs"].push_back(value(name));
    inputs["output_specs"].push_back({{"user_output", {{"arg", value(name)}}}});
  }

  Json document() const {
    Json leaf{{"type", nullptr}, {"context", nullptr}, {"children_spec", Json::array()}};
    Json leaves = Json::array();
    for (std::size_t i = 0; i < samples_.size(); ++i) leaves.push_back(leaf);
    const Json spec = Json::array({1, tuple({tuple(leaves),
                                             {{"type", "builtins.dict"},
                                              {"context", "[]"},
                                              {"children_spec", Json::array()}}})});
    return {{"graph_module",
             {{"graph", graph},
              {"signature", inputs},
              {"module_call_graph", {{{"signature", {{"in_spec", spec.dump()}}}}}}}},
            {"range_constraints", ranges},
            {"schema_version", {{"major", schema}, {"minor", 0}}},
            {"torch_version", "2.11.0"}};
  }

  /// `document` is what the file gets in place of document().
  std::string write(const std::filesystem::path& path, const std::string& document = {}) const {
    caffe2::serialize::PyTorchStreamWriter archive(path.string());
    for (const auto& [name, tensor] : weights_)
      archive.writeRecord("data/weights/" + name, tensor.data_ptr(), tensor.nbytes());
    const auto text = [&](const std::string& name, const std::string& content) {
      archive.writeRecord(name, content.data(), content.size());
    };
    text("archive_version", archive_version);
    text("data/weights/model_weights_config.json", Json{{"config", config}}.dump());
    const auto sample = torch::jit::pickle_save(c10::ivalue::Tuple::create(
        {c10::ivalue::Tuple::create(samples_),
         c10::impl::GenericDict(c10::StringType::get(), c10::TensorType::get())}));
    archive.writeRecord("data/sample_inputs/model.pt", sample.data(), sample.size());
    for (const auto& model : models)
      text("models/" + model + ".json", document.empty() ? this->document().dump() : document);
    archive.writeEndOfFile();
    return path.string();
  }

  // Tests change them.
  Json graph{{"inputs", Json::array()},
             {"outputs", Json::array()},
             {"nodes", Json::array()},
             {"tensor_values", Json::object()}};
  Json inputs{{"input_specs", Json::array()}, {"output_specs", Json::array()}};  ///< the signature
  Json config = Json::object();                                                  ///< of the weights
  Json ranges = Json::object();                                                  ///< of symbols
  int schema = 8;
  std::string archive_version = "0";
  std::vector<std::string> models{"model"};

 private:
  static Json tuple(const Json& children) {
    return {{"type", "builtins.tuple"}, {"context", "null"}, {"children_spec", children}};
  }

  static Json meta_of(const at::Tensor& tensor, bool requires_grad) {
    const auto numbers = [](c10::IntArrayRef values) {
      Json list = Json::array();
      for (const int64_t one : values) list.push_back({{"as_int", one}});
      return list;
    };
    constexpr int kLong = 5;
    constexpr int kFloat = 7;
    return {{"dtype", tensor.scalar_type() == at::kLong ? kLong : kFloat},
            {"sizes", numbers(tensor.sizes())},
            {"strides", numbers(tensor.strides())},
            {"storage_offset", {{"as_int", 0}}},
            {"requires_grad", requires_grad}};
  }

  void add_weight(const std::string& kind, const std::string& name, const at::Tensor& tensor,
                  bool requires_grad) {
    graph["inputs"].push_back(value(name));
    inputs["input_specs"].push_back(
        {{kind, {{"arg", {{"name", name}}}, {kind + "_name", name}, {"persistent", true}}}});
    weights_[name] = tensor;
    config[name] = {{"path_name", name},
                    {"use_pickle", false},
                    {"tensor_meta", meta_of(tensor, requires_grad)}};
  }

  std::map<std::string, at::Tensor> weights_;
  std::vector<c10::IValue> samples_;
};

}  // namespace fathom::tests
