#include "ops/rmsprop.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/record_function.h>
#include <c10/core/DeviceGuard.h>

#include "ops/cuda/library.h"
#include "ops/vector_clones.h"

namespace fathom::ops {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements a thread takes at least, some 5 us

template <typename T>
FATHOM_VECTOR_CLONES void update(const RmsPropRule<T>& rule, int64_t count, const T* g,
                                 T* mean_square, T* p) {
  for (int64_t i = 0; i < count; ++i) rule.apply(g[i], mean_square[i], p[i]);
}

void update_on_cpu(const at::Tensor& p, const at::Tensor& g, const at::Tensor& mean_square,
                   const RmsProp& options) {
  AT_DISPATCH_FLOATING_TYPES(p.scalar_type(), "rmsprop", [&] {
    const RmsPropRule<scalar_t> rule(options);
    auto* parameters = p.mutable_data_ptr<scalar_t>();
    const auto* gradients = g.const_data_ptr<scalar_t>();
    auto* squares = mean_square.mutable_data_ptr<scalar_t>();
    at::parallel_for(0, p.numel(), kGrain, [&](int64_t begin, int64_t end) {
      update(rule, end - begin, gradients + begin, squares + begin, parameters + begin);
    });
  });
}

void update_on_cuda(const at::Tensor& p, const at::Tensor& g, const at::Tensor& mean_square,
                    const RmsProp& options) {
  const c10::DeviceGuard guard(p.device());
  const RmsPropUpdate call{
      .options = options,
      .element = p.scalar_type() == at::kFloat ? Element::kFloat : Element::kDouble,
      .count = p.numel(),
      .stream = at::accelerator::getCurrentStream(p.device().index()).native_handle()};
  const char* error = cuda_library()->rmsprop_update(call, p.mutable_data_ptr(), g.const_data_ptr(),
                                                     mean_square.mutable_data_ptr());
  TORCH_CHECK(error == nullptr, "rmsprop on ", p.device(), ": ", error);
}

/// Several passes over the memory: for a device that we have no kernel for.
void update_elsewhere(const at::Tensor& p, const at::Tensor& g, const at::Tensor& mean_square,
                      const RmsProp& options) {
  mean_square.mul_(options.decay).addcmul_(g, g, 1 - options.decay);
  p.addcdiv_(g, (mean_square + options.epsilon).sqrt_(), -options.rate);
}

}  // namespace

void rmsprop(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& gradients,
             const std::vector<at::Tensor>& mean_squares, const RmsProp& options) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:rmsprop", std::vector<c10::IValue>{parameters});
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& p = parameters[i];
    for (const at::Tensor& tensor : {p, gradients[i], mean_squares[i]}) {
      TORCH_CHECK(tensor.is_contiguous() && tensor.sizes() == p.sizes() &&
                      tensor.scalar_type() == p.scalar_type() &&
                      (p.scalar_type() == at::kFloat || p.scalar_type() == at::kDouble),
                  "rmsprop: parameter ", i, " and its gradient or mean square differ in layout");
    }
    const auto on_device =
        p.is_cuda() && cuda_library() != nullptr ? update_on_cuda : update_elsewhere;
    (p.is_cpu() ? update_on_cpu : on_device)(p, gradients[i], mean_squares[i], options);
  }
}

}  // namespace fathom::ops
