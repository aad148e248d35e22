#include "ops/kernels/sequence/selective_scan_cuda.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>

#include "ops/core/buffer.h"
#include "ops/cuda/library.h"
#include "ops/kernels/cuda/selective_scan.h"

namespace fathom::ops {
namespace {

ChannelRows rows_of(const at::Tensor& x) {
  return {.data = x.const_data_ptr(), .sequence = x.stride(0), .position = x.stride(1)};
}

ScanTensors tensors_of(const ScanInputs& x, const at::Tensor& before) {
  return {.u = rows_of(x.u),
          .delta = rows_of(x.delta),
          .z = rows_of(x.z),
          .a = x.a.const_data_ptr(),
          .b = x.b.const_data_ptr(),
          .c = x.c.const_data_ptr(),
          .d = x.d.const_data_ptr(),
          .bias = x.delta_bias.const_data_ptr(),
          .before = before.defined() ? before.const_data_ptr() : nullptr,
          .sequences = x.u.size(0),
          .positions = x.u.size(1),
          .channels = x.u.size(2),
          .states = static_cast<int>(x.a.size(0))};
}

/// Calls launch(library, call) on the device of u.
template <typename Launch>
void launch_on(const at::Tensor& u, const ScanTensors& tensors, const Launch& launch) {
  const c10::DeviceGuard guard(u.device());
  const ScanCall call{
      .element = element(u.scalar_type()).value(),
      .in = tensors,
      .stream = at::accelerator::getCurrentStream(u.device().index()).native_handle()};
  const char* error = launch(*cuda_library(), call);
  TORCH_CHECK(error == nullptr, "selective_scan on ", u.device(), ": ", error);
}

}  // namespace

bool has_selective_scan_cuda(const ScanInputs& in) {
  return in.u.is_cuda() && cuda_library() != nullptr && element(in.u.scalar_type()) &&
         in.a.size(1) <= kMaxStates;
}

ScannedStates selective_scan_cuda(const ScanInputs& in, const at::Tensor& state) {
  const at::TensorOptions options = in.a.options();
  const at::Tensor before =
      state.defined() ? state.to(in.a.scalar_type()).contiguous() : at::Tensor();
  const ScanTensors tensors = tensors_of(in, before);
  const int64_t n = tensors.sequences;
  const int64_t channels = tensors.channels;
  const int64_t states = tensors.states;
  ScannedStates found{.y = at::empty(in.u.sizes(), in.u.options()),
                      .last = at::empty({n, states, channels}, options),
                      .kept = {}};
  if (!state.defined()) found.kept = at::empty({n, tensors.chunks(), states, channels}, options);
  const ScanOutputs out{.y = found.y.mutable_data_ptr(),
                        .last = found.last.mutable_data_ptr(),
                        .kept = found.kept.defined() ? found.kept.mutable_data_ptr() : nullptr};
  launch_on(in.u, tensors, [&](const CudaLibrary& library, const ScanCall& call) {
    return library.selective_scan(call, out);
  });
  return found;
}

ScanInputs selective_scan_backward_cuda(const ScanInputs& in, const at::Tensor& kept,
                                        const at::Tensor& g) {
  const at::Tensor dy = g.contiguous();
  const ScanTensors tensors = tensors_of(in, {});
  const int64_t n = tensors.sequences;
  const int64_t channels = tensors.channels;
  const at::TensorOptions options = in.a.options();
  const at::Tensor du = at::empty(in.u.sizes(), in.u.options());
  const at::Tensor ddelta = at::empty_like(du);
  const at::Tensor dz = at::empty_like(du);
  const at::Tensor da = at::empty({n, in.a.size(0), channels}, options);
  const at::Tensor dd = at::empty({n, channels}, options);
  const at::Tensor dbias = at::empty_like(dd);
  const at::Tensor db =
      at::empty({scan_parts(channels), n, tensors.positions, in.a.size(0)}, options);
  const at::Tensor dc = at::empty_like(db);
  const SelectiveScanGradients out{.channels = {.g = rows_of(dy),
                                                .kept = kept.const_data_ptr(),
                                                .u = du.mutable_data_ptr(),
                                                .delta = ddelta.mutable_data_ptr(),
                                                .z = dz.mutable_data_ptr(),
                                                .a = da.mutable_data_ptr(),
                                                .d = dd.mutable_data_ptr(),
                                                .bias = dbias.mutable_data_ptr()},
                                   .b = db.mutable_data_ptr(),
                                   .c = dc.mutable_data_ptr()};
  launch_on(in.u, tensors, [&](const CudaLibrary& library, const ScanCall& call) {
    return library.selective_scan_backward(call, out);
  });
  return {.u = du,
          .delta = ddelta,
          .a = da.sum(0),
          .b = db.sum(0),
          .c = dc.sum(0),
          .d = dd.sum(0),
          .z = dz,
          .delta_bias = dbias.sum(0)};
}

}  // namespace fathom::ops
