#include "ops/kernels/cuda/launch.h"
#include "ops/kernels/cuda/lstm_gates.h"

namespace fathom::ops {
namespace {

/// A thread a unit: neighbours load neighbours.
template <typename T, typename Tensors>
__global__ void units(Tensors at, int64_t samples, int64_t width) {
  for (int64_t i = first_index(); i < samples * width; i += index_stride()) {
    run_unit<T>(at, width, i / width, i % width);
  }
}

/// Of `to<an element>`, which are the tensors.
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

const char* lstm_gates(const LstmGatesCall& call, const LstmGatesForward<void>& at) {
  return run(call, [&]<typename S>(S /*element*/) { return typed<S>(at); });
}

const char* lstm_gates_backward(const LstmGatesCall& call, const LstmGatesBackward<void>& at) {
  return run(call, [&]<typename S>(S /*element*/) { return typed<S>(at); });
}

}  // namespace fathom::ops
