#include "ops/kernels/local_response_norm.h"

#include <ATen/record_function.h>
#include <torch/nn/functional/normalization.h>

#include "ops/core/autograd/custom_function.h"
#include "ops/kernels/local_response_norm_cpu.h"
#include "ops/kernels/local_response_norm_cuda.h"

namespace fathom::ops {
namespace {

at::Tensor forward(const at::Tensor& x, const LocalResponseNormOptions& norm) {
  return x.is_cpu() ? local_response_norm_cpu(x, norm) : local_response_norm_cuda(x, norm);
}

at::Tensor backward(const at::Tensor& x, const at::Tensor& g,
                    const LocalResponseNormOptions& norm) {
  return x.is_cpu() ? local_response_norm_backward_cpu(x, g, norm)
                    : local_response_norm_backward_cuda(x, g, norm);
}

}  // namespace

at::Tensor composed_local_response_norm(const at::Tensor& x, const LocalResponseNormOptions& norm) {
  if (x.is_cpu() && at::isReducedFloatingType(x.scalar_type())) {
    return composed_local_response_norm(x.to(at::kFloat), norm).to(x.scalar_type());
  }
  return torch::nn::functional::local_response_norm(
      x, torch::nn::functional::LocalResponseNormFuncOptions(norm.size)
             .alpha(norm.alpha)
             .beta(norm.beta)
             .k(norm.bias));
}

at::Tensor local_response_norm(const at::Tensor& x, const LocalResponseNormOptions& norm) {
  RECORD_USER_SCOPE_WITH_INPUTS(
      "op:local_response_norm",
      (std::vector<c10::IValue>{x, norm.size, norm.alpha, norm.beta, norm.bias}));
  TORCH_CHECK(norm.size > 0 && norm.size % 2 == 1, "local_response_norm: size is ", norm.size,
              ", expected an odd number");
  if (x.is_cpu() || has_local_response_norm_cuda(x, norm)) {
    const at::MemoryFormat format =
        x.is_cpu() ? x.suggest_memory_format() : at::MemoryFormat::Contiguous;
    const at::Tensor input = x.contiguous(format);
    // Saves only the input: computing the scales again is faster than reading them.
    return apply(
        {.forward =
             [&] {
               return CustomFunction::Result{{forward(input, norm)}, {input}};
             },
         .backward = [norm,
                      format](const CustomFunction::Request& request) -> CustomFunction::List {
           return {backward(request.saved[0], request.gradients[0].contiguous(format), norm)};
         }},
        {input})[0];
  }
  return composed_local_response_norm(x, norm);
}

}  // namespace fathom::ops
