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
      .element = p.scalar_type() == at::kFloat ? Element::kFp32 : Element::kFp64,
      .count = p.numel(),
      .stream = at::accelerator::getCurrentStream(p.device().index()).native_handle()};
  const char* error = cuda_library()->rmsprop_update(call, p.mutable_data_ptr(), g.const_data_ptr(),
                                                     mean_square.mutable_data_ptr());
  TORCH_CHECK(error == nullptr, "rmsprop on ", p.device(), ": ", error);
}

}  // namespace

void rmsprop(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& gradients,
             const std::vector<at::Tensor>& mean_squares, const RmsProp& options) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:rmsprop", std::vector<c10::IValue>{parameters});
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& p = parameters[i];
    for (const at::Tensor& tensor : {p, gradients[i], mean_squares[i]}) {
      TORCH_CHECK(tensor.is_contiguous() && tensor.sizes() == p.sizes() &&
                      tensor.scalar_type() == p.scalar_type() && p.is_floating_point(),
                  "rmsprop: parameter ", i, " and its gradient or mean square differ in layout");
    }
    const bool has_kernel = p.scalar_type() == at::kFloat || p.scalar_type() == at::kDouble;
    if (p.is_cpu() && has_kernel) {
      update_on_cpu(p, gradients[i], mean_squares[i], options);
    } else if (p.is_cuda() && has_kernel && cuda_library() != nullptr) {
      update_on_cuda(p, gradients[i], mean_squares[i], options);
    } else {
      rmsprop_composite({p}, {gradients[i]}, {mean_squares[i]}, options);
    }
  }
}

void rmsprop_composite(const std::vector<at::Tensor>& parameters,
                       const std::vector<at::Tensor>& gradients,
                       const std::vector<at::Tensor>& mean_squares, const RmsProp& options) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& g = gradients[i];
    mean_squares[i].mul_(options.decay).addcmul_(g, g, 1 - options.decay);
    parameters[i].addcdiv_(g, (mean_squares[i] + options.epsilon).sqrt_(), -options.rate);
  }
}

}  // namespace fathom::ops
