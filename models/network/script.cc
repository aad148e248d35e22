#include "models/network/script.h"

#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <stdexcept>

#include "fixtures/files/text.h"
#include "models/network/module_tree.h"
#include "models/network/tensor_tree.h"
#include "models/network/unknown_operator.h"

namespace fathom::models {
namespace {

using c10::IValue;

/// The reason in an error of TorchScript, whose text has the script's lines before it.
std::string reason(std::string_view text) {
  constexpr std::string_view kUnknown = "Unknown builtin op: ";
  if (const auto at = text.find(kUnknown); at != std::string_view::npos) {
    const auto name = at + kUnknown.size();
    return unknown_operator(std::string(text.substr(name, text.find(".\n", name) - name)));
  }
  constexpr std::string_view kError = "RuntimeError: ";
  const auto at = text.rfind(kError);
  text = at == std::string_view::npos ? text : text.substr(at + kError.size());
  text.remove_prefix(std::min(text.find_first_not_of("\n "), text.size()));
  return fixtures::first_line(text);
}

/// The parameters of a script, and its training mode.
class ScriptModule final : public ModuleTree {
 public:
  explicit ScriptModule(torch::jit::Module script) : script_(std::move(script)) {
    for (const auto& one : script_.named_parameters()) add_parameter(one.name, one.value);
    for (const auto& one : script_.named_buffers()) add_buffer(one.name, one.value);
  }

  void train(bool on) override {
    ModuleTree::train(on);
    script_.train(on);
  }

 private:
  torch::jit::Module script_;
};

class Script final : public Network {
 public:
  Script(const torch::jit::Module& script, const std::optional<IValue>& arguments)
      : module_(std::make_shared<ScriptModule>(script)), forward_(script.get_method("forward")) {
    if (!arguments) return;
    inputs_ = tensors_in(*arguments);
    // The first argument is the module.
    for (const auto& argument : forward_.function().getSchema().arguments())
      types_.push_back(argument.type());
    const auto& elements = arguments->toTupleRef().elements();
    arguments_.assign(elements.begin(), elements.end());
  }

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) override {
    const at::Tensor* next = inputs.data();
    std::vector<IValue> arguments;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      arguments.push_back(
          with_tensors(arguments_[i], next, i + 1 < types_.size() ? types_[i + 1] : nullptr));
    }
    // The optimizing executor would fuse ops, so that a step has other ones than in Python.
    const torch::jit::GraphOptimizerEnabledGuard as_written(false);
    try {
      return tensors_in(forward_(std::move(arguments)));
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const std::exception& error) {
      throw std::runtime_error(reason(error.what()));
    }
  }

  torch::nn::Module& module() override { return *module_; }
  const std::vector<at::Tensor>& inputs() const override { return inputs_; }

  BatchRange batches() const override {
    const int64_t batch = batch_of(inputs_);
    const bool is_shared = std::all_of(
        inputs_.begin(), inputs_.end(),
        [&](const at::Tensor& input) { return input.dim() > 0 && input.size(0) == batch; });
    return is_shared ? BatchRange() : BatchRange{.least = batch, .most = batch};
  }

 private:
  std::shared_ptr<ScriptModule> module_;
  torch::jit::Method forward_;
  std::vector<c10::TypePtr> types_;
  std::vector<IValue> arguments_;
  std::vector<at::Tensor> inputs_;
};

}  // namespace

std::unique_ptr<Network> read_script(const Archive& archive,
                                     const std::optional<IValue>& arguments) {
  try {
    return std::make_unique<Script>(torch::jit::load(archive.path()), arguments);
  } catch (const std::exception& error) {
    archive.fail(reason(error.what()));
  }
}

}  // namespace fathom::models
