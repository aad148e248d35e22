#include "ops/kernels/sequence/selective_scan.h"

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>

#include <utility>
#include <vector>

#include "ops/core/autograd/custom_function.h"
#include "ops/core/buffer.h"
#include "ops/kernels/sequence/selective_scan_cpu.h"
#include "ops/kernels/sequence/selective_scan_cuda.h"

namespace fathom::ops {
namespace {

std::vector<c10::IValue> shown_scan(const ScanInputs& in, const at::Tensor& state) {
  return {in.u, in.b, state.defined()};
}

/// The inputs as kernels read them: rows of channels in the type of u, all else contiguous in the
/// type to compute in, `a` as [S, C].
ScanInputs for_kernels(const ScanInputs& in) {
  const at::ScalarType given = in.u.scalar_type();
  const auto rows = [given](const at::Tensor& x) {
    return x.stride(2) == 1 ? x.to(given) : x.to(given).contiguous();
  };
  const auto computed = [type = at::toOpMathType(given)](const at::Tensor& x) {
    return x.to(type).contiguous();
  };
  return {.u = rows(in.u),
          .delta = rows(in.delta),
          .a = computed(in.a.t()),
          .b = computed(in.b),
          .c = computed(in.c),
          .d = computed(in.d),
          .z = rows(in.z),
          .delta_bias = computed(in.delta_bias)};
}

ScanResult composed_scan(const ScanInputs& in, const at::Tensor& state) {
  const at::ScalarType type = at::toOpMathType(in.u.scalar_type());
  const at::Tensor u = in.u.to(type);
  const at::Tensor z = in.z.to(type);
  const at::Tensor steps = at::softplus(in.delta.to(type) + in.delta_bias.to(type));
  const at::Tensor rates = in.a.t().to(type);  // [S, C]
  const auto position = [](const at::Tensor& x) { return x.unbind(1); };
  const auto sizes = position(steps.unsqueeze(2));  // [N, 1, C] each
  const auto driven = position((steps * u).unsqueeze(2));
  const auto into = position(in.b.to(type).unsqueeze(3));  // [N, S, 1] each
  const auto out = position(in.c.to(type).unsqueeze(3));
  at::Tensor h =
      state.defined() ? state : at::zeros({u.size(0), rates.size(0), u.size(2)}, u.options());
  std::vector<at::Tensor> read;
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    h = (sizes[t] * rates).exp() * h + driven[t] * into[t];
    read.push_back((h * out[t]).sum(1));
  }
  const at::Tensor y = (at::stack(read, 1) + u * in.d.to(type)) * at::silu(z);
  return {.y = y.to(in.u.scalar_type()), .state = h};
}

CustomFunction::List scan_gradients(const CustomFunction::Request& request) {
  const auto& saved = request.saved;
  const ScanInputs in{.u = saved[0],
                      .delta = saved[1],
                      .a = saved[2],
                      .b = saved[3],
                      .c = saved[4],
                      .d = saved[5],
                      .z = saved[6],
                      .delta_bias = saved[7]};
  const auto backward = in.u.is_cpu() ? selective_scan_backward_cpu : selective_scan_backward_cuda;
  const ScanInputs dx = backward(in, saved[8], request.gradients[0]);
  return {dx.u, dx.delta, dx.a, dx.b, dx.c, dx.d, dx.z, dx.delta_bias};
}

}  // namespace

ScanResult selective_scan(const ScanInputs& in, const at::Tensor& state) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:selective_scan", shown_scan(in, state));
  return composed_scan(in, state);
}

ScanResult fused_selective_scan(const ScanInputs& in, const at::Tensor& state) {
  const at::ScalarType type = in.u.scalar_type();
  if (!element(type) || (!in.u.is_cpu() && !has_selective_scan_cuda(in)))
    return selective_scan(in, state);
  const auto scan = in.u.is_cpu() ? selective_scan_cpu : selective_scan_cuda;
  RECORD_USER_SCOPE_WITH_INPUTS("op:selective_scan", shown_scan(in, state));
  // The conversions stay outside, so that autograd converts the gradients back.
  const ScanInputs x = for_kernels(in);
  if (state.defined()) {
    ScannedStates found = scan(x, state);
    return {.y = std::move(found.y), .state = std::move(found.last)};
  }
  const auto outputs =
      apply({.forward = [&]() -> CustomFunction::Result {
               const ScannedStates found = scan(x, {});
               return {{found.y, found.last},
                       {x.u, x.delta, x.a, x.b, x.c, x.d, x.z, x.delta_bias, found.kept}};
             },
             .backward = scan_gradients},
            {x.u, x.delta, x.a, x.b, x.c, x.d, x.z, x.delta_bias});
  return {.y = outputs[0], .state = outputs[1]};
}

}  // namespace fathom::ops
