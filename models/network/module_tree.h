#pragma once

#include <torch/nn/module.h>

#include <map>
#include <memory>
#include <set>
#include <string>

namespace fathom::models {

/// A module with parameters and buffers under the names of a file, "features.0.weight". Modules of
/// LibTorch allow no dots in a name, so that each part of it is a module.
class ModuleTree : public torch::nn::Module {
 public:
  /// A tensor that was added under another name, as the shared weight of an embedding and the
  /// last layer, is left out.
  void add_parameter(const std::string& name, const at::Tensor& tensor);
  void add_buffer(const std::string& name, const at::Tensor& tensor);

 private:
  /// The module of a tensor, and the tensor's name there.
  std::pair<torch::nn::Module*, std::string> place_of(const std::string& name);

  std::map<std::string, std::shared_ptr<torch::nn::Module>> modules_;  ///< by path
  std::set<const at::TensorImpl*> added_;
};

}  // namespace fathom::models
