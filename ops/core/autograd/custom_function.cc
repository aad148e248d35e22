#include "ops/core/autograd/custom_function.h"

#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace fathom::ops {
namespace {

using List = CustomFunction::List;

/// Holds the backward pass as an IValue, the type of the data that autograd saves with a node.
struct Backward final : torch::CustomClassHolder {
  Backward(const CustomFunction& function, std::size_t input_count)
      : backward(function.backward), inputs(input_count) {}

  decltype(CustomFunction::backward) backward;
  std::size_t inputs;
};

class Function : public torch::autograd::Function<Function> {
 public:
  static List forward(torch::autograd::AutogradContext* context, at::TensorList inputs,
                      const CustomFunction& function) {
    auto [outputs, saved] = function.forward();
    context->save_for_backward(std::move(saved));
    context->set_materialize_grads(!function.undefined_gradients);
    context->saved_data["backward"] =
        c10::IValue::make_capsule(c10::make_intrusive<Backward>(function, inputs.size()));
    return outputs;
  }

  static List backward(torch::autograd::AutogradContext* context, const List& gradients) {
    const auto holder = context->saved_data["backward"].toCapsule();
    const auto& pass = static_cast<const Backward&>(*holder);
    std::vector<bool> wanted;
    for (std::size_t i = 0; i < pass.inputs; ++i) wanted.push_back(context->needs_input_grad(i));
    List found = pass.backward(
        {.saved = context->get_saved_variables(), .gradients = gradients, .wanted = wanted});
    found.emplace_back();  // no gradient for `function`
    return found;
  }
};

}  // namespace

List apply(const CustomFunction& function, const List& inputs) {
  return Function::apply(at::TensorList(inputs), function);
}

}  // namespace fathom::ops
