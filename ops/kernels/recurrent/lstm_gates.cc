#include "ops/kernels/recurrent/lstm_gates.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>

#include "ops/core/autograd/custom_function.h"
#include "ops/core/buffer.h"
#include "ops/cuda/library.h"
#include "ops/kernels/cuda/lstm_gates.h"
#include "ops/kernels/lstm_gates_rule.h"
#include "ops/kernels/recurrent/unit_loops.h"

namespace fathom::ops {
namespace {

/// Runs the kernel over `tensors` on the CPU, or calls `on_cuda` with libfathom_cuda.so.
template <typename Tensors, typename OnCuda>
void run(const at::Tensor& c, const Tensors& tensors, const OnCuda& on_cuda) {
  const int64_t samples = c.size(0);
  const int64_t width = c.size(1);
  if (c.is_cpu()) {
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, c.scalar_type(), "lstm_gates", [&] {
      run_units<at::opmath_type<scalar_t>>(typed<scalar_t>(tensors), samples, width);
    });
    return;
  }
  TORCH_CHECK(c.is_cuda() && cuda_library() != nullptr, "lstm_gates: no kernel on ", c.device());
  const c10::DeviceGuard guard(c.device());
  const LstmGatesCall call{
      .element = *element(c.scalar_type()),
      .samples = samples,
      .width = width,
      .stream = at::accelerator::getCurrentStream(c.device().index()).native_handle()};
  const char* error = on_cuda(*cuda_library(), call);
  TORCH_CHECK(error == nullptr, "lstm_gates on ", c.device(), ": ", error);
}

/// Gradients of {preactivations, c}, which are saved, from those of {next h, next c}.
CustomFunction::List backward(const CustomFunction::Request& request) {
  const CustomFunction::List& saved = request.saved;
  const CustomFunction::List& gradients = request.gradients;
  const at::Tensor dpreactivations = at::empty_like(saved[0]);
  const at::Tensor dc = at::empty_like(saved[1]);
  lstm_gates_backward_out(dpreactivations, dc, saved[0], saved[1],
                          {.h = gradients[0].contiguous(), .c = gradients[1].contiguous()});
  return {dpreactivations, dc};
}

}  // namespace

void lstm_gates_out(const LstmState& next, const at::Tensor& preactivations, const at::Tensor& c) {
  const LstmGatesForward<void> tensors{.preactivations = preactivations.const_data_ptr(),
                                       .c = c.const_data_ptr(),
                                       .next_h = next.h.mutable_data_ptr(),
                                       .next_c = next.c.mutable_data_ptr()};
  run(c, tensors, [&](const CudaLibrary& library, const LstmGatesCall& call) {
    return library.lstm_gates(call, tensors);
  });
}

void lstm_gates_backward_out(const at::Tensor& dpreactivations, const at::Tensor& dc,
                             const at::Tensor& preactivations, const at::Tensor& c,
                             const LstmState& next) {
  const LstmGatesBackward<void> tensors{.preactivations = preactivations.const_data_ptr(),
                                        .c = c.const_data_ptr(),
                                        .next_h = next.h.const_data_ptr(),
                                        .next_c = next.c.const_data_ptr(),
                                        .dpreactivations = dpreactivations.mutable_data_ptr(),
                                        .dc = dc.mutable_data_ptr()};
  run(dc, tensors, [&](const CudaLibrary& library, const LstmGatesCall& call) {
    return library.lstm_gates_backward(call, tensors);
  });
}

LstmState lstm_gates(const at::Tensor& preactivations, const at::Tensor& c) {
  TORCH_CHECK(c.dim() == 2 && preactivations.dim() == 2 && preactivations.size(0) == c.size(0) &&
                  preactivations.size(1) == 4 * c.size(1) && preactivations.is_contiguous() &&
                  c.is_contiguous() && preactivations.scalar_type() == c.scalar_type() &&
                  preactivations.device() == c.device() && element(c.scalar_type()),
              "lstm_gates: preactivations ", preactivations.sizes(), " and c ", c.sizes(),
              ", expected [N, 4H] and [N, H], contiguous and of one floating type");
  const auto next =
      apply({.forward =
                 [&] {
                   const LstmState state{.h = at::empty_like(c), .c = at::empty_like(c)};
                   lstm_gates_out(state, preactivations, c);
                   return CustomFunction::Result{{state.h, state.c}, {preactivations, c}};
                 },
             .backward = backward},
            {preactivations, c});
  return {.h = next[0], .c = next[1]};
}

}  // namespace fathom::ops
