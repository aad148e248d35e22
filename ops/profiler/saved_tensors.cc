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

/// LibTorch's engine with other hooks, because its default ones take Python objects.
class Engine final : public torch::autograd::Engine {
 public:
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
