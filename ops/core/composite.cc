#include "ops/core/composite.h"

#include <algorithm>

#include "ops/core/autograd/gradient_call.h"

namespace fathom::ops {
namespace {

class CompositeOp final : public Op {
 public:
  CompositeOp(Composite composite, Pass pass) : composite_(std::move(composite)), pass_(pass) {}

  /// Backward reads the inputs and the outputs' gradients unless the op says otherwise, writes the
  /// inputs' gradients, and has two products for each one of forward.
  Cost cost(fixtures::Precision precision) const override {
    const bool backward = pass_ == Pass::kBackward;
    const double forward_floats = composite_.read + composite_.written;
    const double floats =
        backward ? composite_.backward_read.value_or(forward_floats) + composite_.gradients
                 : forward_floats;
    return {.flops = (backward ? 4 : 2) * composite_.macs,
            .bytes = element_bytes(precision) * floats + kIndexBytes * composite_.integers,
            .macs = composite_.macs};
  }

  double untouched_bytes(fixtures::Precision precision) const override {
    return element_bytes(precision) * composite_.untouched;
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draws(seed);
    Tensors made = composite_.inputs(draws);
    if (pass_ == Pass::kForward) return made;
    for (const auto& output : composite_.forward(made))
      made.push_back(draws.normal(output.sizes()));
    return made;
  }

  Call call(const Tensors& in) const override {
    if (composite_.prepare != nullptr) composite_.prepare(in);
    return call_of(composite_.forward, in);
  }

  Call native(const Tensors& in) const override {
    return composite_.native == nullptr ? nullptr : call_of(composite_.native, in);
  }

  bool native_on(fixtures::Device device) const override {
    return std::ranges::count(composite_.native_on, device) > 0;
  }

  Backend backend_in_steps(fixtures::Device device) const override {
    const bool native = std::ranges::count(composite_.native_in_steps, device) > 0;
    return native ? Backend::kNative : Backend::kTorch;
  }

  std::vector<Backend> backends() const override {
    std::vector<Backend> all{Backend::kTorch};
    all.insert(all.end(), composite_.vendors.begin(), composite_.vendors.end());
    if (composite_.native != nullptr) all.push_back(Backend::kNative);
    return all;
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    return composite_.problem(in, out);
  }

  double tolerance_factor(fixtures::Precision /*precision*/) const override {
    return pass_ == Pass::kBackward ? composite_.tolerance_factor : 1;
  }

 private:
  using Forward = std::function<Tensors(const Tensors&)>;

  Call call_of(const Forward& forward, const Tensors& in) const {
    if (pass_ == Pass::kForward) return [in, forward] { return forward(in); };
    const auto with_gradient = static_cast<std::ptrdiff_t>(composite_.with_gradient);
    const auto outputs = static_cast<std::ptrdiff_t>(composite_.outputs);
    const Tensors leaves(in.begin(), in.begin() + with_gradient);
    const Tensors constants(in.begin() + with_gradient, in.end() - outputs);
    const Tensors gradients(in.end() - outputs, in.end());
    const auto of_leaves = [&](const Tensors& differentiable) {
      Tensors all = differentiable;
      all.append(constants.begin(), constants.end());
      return forward(all);
    };
    return gradient_call(of_leaves, leaves, gradients);
  }

  Composite composite_;
  Pass pass_;
};

}  // namespace

std::unique_ptr<Op> make_composite(Composite composite, Pass pass) {
  return std::make_unique<CompositeOp>(std::move(composite), pass);
}

}  // namespace fathom::ops
