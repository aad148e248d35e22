#include "ops/kernels/cuda/launch.h"
#include "ops/kernels/cuda/lstm_gates.h"

namespace fathom::ops {
namespace {

/// One thread per unit, so that neighbouring threads load neighbouring elements.
template <typename T, typename Tensors>
__global__ void units(Tensors tensors, int64_t samples, int64_t width) {
  for (int64_t i = first_index(); i < samples * width; i += index_stride()) {
    run_unit<T>(tensors, width, i / width, i % width);
  }
}

/// Launches the kernel over to(value of the element type), which returns the typed tensors.
template <typename To>
const char* run(const LstmGatesCall& call, const To& to) {
  const int64_t count = call.samples * call.width;
  if (count == 0) return nullptr;
  return launch(call.element, [&](auto element, auto number) {
    units<decltype(number)>
        <<<blocks_over(count), kThreads, 0, static_cast<cudaStream_t>(call.stream)>>>(
            to(element), call.samples, call.width);
  });
}

}  // namespace

const char* lstm_gates(const LstmGatesCall& call, const LstmGatesForward<void>& tensors) {
  return run(call, [&]<typename S>(S /*element*/) { return typed<S>(tensors); });
}

const char* lstm_gates_backward(const LstmGatesCall& call, const LstmGatesBackward<void>& tensors) {
  return run(call, [&]<typename S>(S /*element*/) { return typed<S>(tensors); });
}

}  // namespace fathom::ops
