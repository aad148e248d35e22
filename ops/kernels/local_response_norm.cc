#include "ops/kernels/local_response_norm.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/functional/normalization.h>

#include "ops/kernels/local_response_norm_cpu.h"
#include "ops/kernels/local_response_norm_cuda.h"

namespace fathom::ops {
namespace {

at::Tensor forward(const at::Tensor& x, const LocalResponseNorm& norm) {
  return x.is_cpu() ? local_response_norm_cpu(x, norm) : local_response_norm_cuda(x, norm);
}

at::Tensor backward(const at::Tensor& x, const at::Tensor& g, const LocalResponseNorm& norm) {
  return x.is_cpu() ? local_response_norm_backward_cpu(x, g, norm)
                    : local_response_norm_backward_cuda(x, g, norm);
}

/// Keeps the input only: the scales cost less to compute again than to read.
class Function : public torch::autograd::Function<Function> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const LocalResponseNorm& norm) {
    context->save_for_backward({x});
    context->saved_data["size"] = norm.size;
    context->saved_data["alpha"] = norm.alpha;
    context->saved_data["beta"] = norm.beta;
    context->saved_data["bias"] = norm.bias;
    return ops::forward(x, norm);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const LocalResponseNorm norm{.size = context->saved_data["size"].toInt(),
                                 .alpha = context->saved_data["alpha"].toDouble(),
                                 .beta = context->saved_data["beta"].toDouble(),
                                 .bias = context->saved_data["bias"].toDouble()};
    const at::Tensor x = context->get_saved_variables()[0];
    return {ops::backward(x, gradients[0].contiguous(), norm), {}};
  }
};

}  // namespace

at::Tensor composed_local_response_norm(const at::Tensor& x, const LocalResponseNorm& norm) {
  if (x.is_cpu() && x.scalar_type() == at::kBFloat16) {
    return composed_local_response_norm(x.to(at::kFloat), norm).to(at::kBFloat16);
  }
  return torch::nn::functional::local_response_norm(
      x, torch::nn::functional::LocalResponseNormFuncOptions(norm.size)
             .alpha(norm.alpha)
             .beta(norm.beta)
             .k(norm.bias));
}

at::Tensor local_response_norm(const at::Tensor& x, const LocalResponseNorm& norm) {
  RECORD_USER_SCOPE_WITH_INPUTS(
      "op:local_response_norm",
      (std::vector<c10::IValue>{x, norm.size, norm.alpha, norm.beta, norm.bias}));
  TORCH_CHECK(norm.size > 0 && norm.size % 2 == 1, "local_response_norm: size is ", norm.size,
              ", expected an odd number");
  if (x.is_cpu() || has_local_response_norm_cuda(x, norm)) {
    return Function::apply(x.contiguous(), norm);
  }
  return composed_local_response_norm(x, norm);
}

}  // namespace fathom::ops
