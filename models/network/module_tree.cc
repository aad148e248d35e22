#include "models/network/module_tree.h"

namespace fathom::models {

void ModuleTree::add_parameter(const std::string& name, const at::Tensor& tensor) {
  if (!added_.insert(tensor.unsafeGetTensorImpl()).second) return;
  const auto [module, own_name] = place_of(name);
  module->register_parameter(own_name, tensor, tensor.requires_grad());
}

void ModuleTree::add_buffer(const std::string& name, const at::Tensor& tensor) {
  if (!added_.insert(tensor.unsafeGetTensorImpl()).second) return;
  const auto [module, own_name] = place_of(name);
  module->register_buffer(own_name, tensor);
}

std::pair<torch::nn::Module*, std::string> ModuleTree::place_of(const std::string& name) {
  torch::nn::Module* module = this;
  std::size_t begin = 0;
  for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', begin)) {
    auto& child = modules_[name.substr(0, dot)];
    if (child == nullptr) {
      child = module->register_module(name.substr(begin, dot - begin),
                                      std::make_shared<torch::nn::Module>());
    }
    module = child.get();
    begin = dot + 1;
  }
  return {module, name.substr(begin)};
}

}  // namespace fathom::models
