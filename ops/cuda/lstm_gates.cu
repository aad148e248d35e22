#include <algorithm>

#include "ops/cuda/launch.h"
#include "ops/cuda/lstm_gates.h"

namespace fathom::ops {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = (int64_t{1} << 31) - 1;

/// A thread a unit: neighbours load neighbours.
template <typename T, typename Tensors>
__global__ void units(Tensors at, int64_t samples, int64_t width) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < samples * width;
       i += stride) {
    run_unit<T>(at, width, i / width, i % width);
  }
}

/// Of `to<an element>`, which are the tensors.
template <typename To>
const char* run(const LstmGatesCall& call, const To& to) {
  const int64_t count = call.samples * call.width;
  if (count == 0) return nullptr;
  const auto blocks =
      static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMostBlocks));
  return launch(call.element, [&](auto element, auto number) {
    units<decltype(number)><<<blocks, kThreads, 0, static_cast<cudaStream_t>(call.stream)>>>(
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
