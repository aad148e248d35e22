#include "ops/core/autograd/custom_function.h"

#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace fathom::ops {
namespace {

using List = CustomFunction::List;

/// Holds `backward` as an IValue, the type of the data that autograd saves with a node.
struct Backward final : torch::CustomClassHolder {
  explicit Backward(const CustomFunction& function) : backward(function.backward) {}

  decltype(CustomFunction::backward) backward;
};

class Function : public torch::autograd::Function<Function> {
 public:
  static List forward(torch::autograd::AutogradContext* context, at::TensorList /*inputs*/,
                      const CustomFunction& function) {
    auto [outputs, saved] = function.forward();
    context->save_for_backward(std::move(saved));
    context->saved_data["backward"] =
        c10::IValue::make_capsule(c10::make_intrusive<Backward>(function));
    return outputs;
  }

  static List backward(torch::autograd::AutogradContext* context, const List& gradients) {
    const auto holder = context->saved_data["backward"].toCapsule();
    List found =
        static_cast<const Backward&>(*holder).backward(context->get_saved_variables(), gradients);
    found.emplace_back();  // no gradient for `function`
    return found;
  }
};

}  // namespace

List apply(const CustomFunction& function, const List& inputs) {
  return Function::apply(at::TensorList(inputs), function);
}

}  // namespace fathom::ops
