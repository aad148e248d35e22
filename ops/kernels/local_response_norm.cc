#include "ops/kernels/local_response_norm.h"

#include <c10/util/accumulate.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/functional/normalization.h>

#include "ops/core/buffer.h"
#include "ops/core/composite.h"
#include "ops/kernels/local_response_norm_cpu.h"
#include "ops/kernels/local_response_norm_cuda.h"
#include "ops/types/table.h"

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

/// LibTorch's: a padded 3-d pooling and a power. Its pooling on the CPU takes no bf16, which
/// autocast turns into fp32 for it.
at::Tensor composite(const at::Tensor& x, const LocalResponseNorm& norm) {
  if (x.is_cpu() && x.scalar_type() == at::kBFloat16) {
    return composite(x.to(at::kFloat), norm).to(at::kBFloat16);
  }
  return torch::nn::functional::local_response_norm(
      x, torch::nn::functional::LocalResponseNormFuncOptions(norm.size)
             .alpha(norm.alpha)
             .beta(norm.beta)
             .k(norm.bias));
}

}  // namespace

at::Tensor local_response_norm(const at::Tensor& x, const LocalResponseNorm& norm) {
  RECORD_USER_SCOPE_WITH_INPUTS(
      "op:local_response_norm",
      (std::vector<c10::IValue>{x, norm.size, norm.alpha, norm.beta, norm.bias}));
  TORCH_CHECK(norm.size > 0 && norm.size % 2 == 1, "local_response_norm: size is ", norm.size,
              ", expected an odd number");
  if (x.is_cpu() || has_local_response_norm_cuda(x, norm)) {
    return Function::apply(x.contiguous(), norm);
  }
  return composite(x, norm);
}

/// {x} gives {y}.
std::unique_ptr<Op> make_local_response_norm(Fields& fields, Pass pass) {
  const auto sizes = fields.sizes("sizes");
  const LocalResponseNorm norm{.size = fields.extent("size"),
                               .alpha = fields.number("alpha"),
                               .beta = fields.number("beta"),
                               .bias = fields.number("bias")};
  if (sizes.size() != 4) fields.fail("\"sizes\" are not four, expected [N, C, H, W]");
  if (norm.size % 2 == 0) {
    fields.fail("\"size\" is " + std::to_string(norm.size) + ", expected an odd number");
  }
  const auto elements = static_cast<double>(c10::multiply_integers(sizes));
  return make_composite(
      {.leaves = [sizes](Draws& draws) -> Tensors { return {draws.normal(sizes)}; },
       .with_gradient = 1,
       .forward = [norm](const Tensors& in) -> Tensors { return {composite(in[0], norm)}; },
       .outputs = 1,
       .products = 0,
       .read = elements,
       .written = elements,
       .gradients = elements,
       .native = [norm](const Tensors& in) -> Tensors {
         return {local_response_norm(in[0], norm)};
       },
       .native_in_steps = true,
       .problem =
           [norm](const Tensors& in, const Tensors& out) {
             ResponseNormProblem problem{.x = buffer(in[0]),
                                         .y = buffer(out[0]),
                                         .size = norm.size,
                                         .alpha = norm.alpha,
                                         .beta = norm.beta,
                                         .bias = norm.bias};
             if (in.size() > 1) {
               problem.y = buffer(in[1]);
               problem.dx = buffer(out[0]);
             }
             return problem;
           },
       .vendors = {Backend::kOneDnn, Backend::kCudnn}},
      pass);
}

std::vector<SeenOp> recognise_local_response_norm(const Seen& seen) {
  if (seen.name != "op:local_response_norm" || seen.arguments.size() != 5) return {};
  return {{Pass::kForward,
           {{"sizes", seen.arguments[0].toTensor().sizes().vec()},
            {"size", seen.arguments[1].toInt()},
            {"alpha", seen.arguments[2].toDouble()},
            {"beta", seen.arguments[3].toDouble()},
            {"bias", seen.arguments[4].toDouble()}}}};
}

}  // namespace fathom::ops
