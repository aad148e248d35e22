#include "ops/profiler/saved_tensors.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <memory>

namespace fathom::ops {
namespace {

using Saved = std::function<void(const at::Tensor&)>;

/// Global, because LibTorch's engine creates the hooks without arguments.
const Saved* listener = nullptr;

/// Saves a tensor as autograd does without hooks, and reports it.
class Keep final : public torch::autograd::SavedVariableHooks {
 public:
  void call_pack_hook(const at::Tensor& tensor) override {
    tensor_ = tensor;
    if (listener != nullptr) (*listener)(tensor);
  }
  at::Tensor call_unpack_hook() override { return tensor_; }

 private:
  at::Tensor tensor_;
};

/// LibTorch's engine with other hooks, because its default ones take Python objects. The backward
/// pass runs in LibTorch's own engine: only the first engine of a process gets threads for GPUs.
class Engine final : public torch::autograd::Engine {
 public:
  torch::autograd::variable_list execute(const torch::autograd::edge_list& roots,
                                         const torch::autograd::variable_list& inputs,
                                         bool keep_graph, bool create_graph, bool accumulate_grad,
                                         const torch::autograd::edge_list& outputs) override {
    return get_base_engine().execute(roots, inputs, keep_graph, create_graph, accumulate_grad,
                                     outputs);
  }
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    return std::make_unique<Keep>();
  }
};

/// Never destroyed, like LibTorch's engine, because its threads outlive main().
torch::autograd::Engine& engine() {
  static auto* const engine = new Engine;
  return *engine;
}

}  // namespace

void visit_saved_tensors(const Saved& saved, const std::function<void()>& work) {
  struct Install {
    explicit Install(const Saved& saved) {
      listener = &saved;
      torch::autograd::set_default_engine_stub(engine);
    }
    ~Install() {
      torch::autograd::set_default_engine_stub(torch::autograd::Engine::get_base_engine);
      listener = nullptr;
    }
  } const install(saved);
  work();
}

}  // namespace fathom::ops
