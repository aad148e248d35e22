#include "ops/kernels/swiglu.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/silu.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <vector>

#include "ops/core/autograd/custom_function.h"
#include "ops/core/buffer.h"
#include "ops/kernels/lstm_gates_rule.h"  // logistic()
#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

constexpr int64_t kGrain = 1 << 13;  // minimum elements per thread

/// In one loop, GCC would compute both sides of logistic()'s limits for each vector, and a limit
/// times x is subnormal, which takes 100 cycles.
template <typename T, typename S>
FATHOM_VECTOR_CLONES void forward(const S* gate, const S* up, int64_t count, S* y) {
  constexpr int64_t kBlock = 256;
  T shares[kBlock];
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t end = std::min(kBlock, count - first);
    for (int64_t i = 0; i < end; ++i) shares[i] = logistic(static_cast<T>(gate[first + i]));
    FATHOM_INDEPENDENT
    for (int64_t i = 0; i < end; ++i) {
      const T x = static_cast<T>(gate[first + i]);
      y[first + i] = static_cast<S>(x * shares[i] * static_cast<T>(up[first + i]));
    }
  }
}

template <typename T, typename S>
FATHOM_VECTOR_CLONES void backward(const S* g, const S* gate, const S* up, int64_t count, S* dgate,
                                   S* dup) {
  FATHOM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const T x = static_cast<T>(gate[i]);
    const T share = logistic(x);
    const T gradient = static_cast<T>(g[i]);
    dgate[i] = static_cast<S>(gradient * static_cast<T>(up[i]) * share * (1 + x * (1 - share)));
    dup[i] = static_cast<S>(gradient * x * share);
  }
}

/// Calls `run` with a type to compute in, one of elements, and a range of them, on all threads.
template <typename Run>
void for_elements(const at::Tensor& like, const Run& run) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, like.scalar_type(), "swiglu", [&] {
    at::parallel_for(0, like.numel(), kGrain, [&](int64_t begin, int64_t end) {
      run(at::opmath_type<scalar_t>{}, scalar_t{}, begin, end - begin);
    });
  });
}

CustomFunction::List gradients(const CustomFunction::Request& request) {
  const at::Tensor g = request.gradients[0].contiguous();
  const at::Tensor& gate = request.saved[0];
  const at::Tensor& up = request.saved[1];
  at::Tensor dgate = at::empty_like(gate);
  at::Tensor dup = at::empty_like(up);
  for_elements(g, [&]<typename T, typename S>(T, S, int64_t at, int64_t count) {
    backward<T>(g.const_data_ptr<S>() + at, gate.const_data_ptr<S>() + at,
                up.const_data_ptr<S>() + at, count, dgate.mutable_data_ptr<S>() + at,
                dup.mutable_data_ptr<S>() + at);
  });
  return {dgate, dup};
}

std::vector<c10::IValue> shown(const at::Tensor& gate) { return {gate}; }

}  // namespace

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:swiglu", shown(gate));
  return at::silu(gate) * up;
}

at::Tensor fused_swiglu(const at::Tensor& gate, const at::Tensor& up) {
  const bool fits = gate.scalar_type() == up.scalar_type() && gate.sizes() == up.sizes();
  if (!gate.is_cpu() || !element(gate.scalar_type()) || !fits) return swiglu(gate, up);
  RECORD_USER_SCOPE_WITH_INPUTS("op:swiglu", shown(gate));
  const CustomFunction::List inputs{gate.contiguous(), up.contiguous()};
  const auto run = [&]() -> CustomFunction::Result {
    at::Tensor y = at::empty_like(inputs[0]);
    for_elements(y, [&]<typename T, typename S>(T, S, int64_t at, int64_t count) {
      forward<T>(inputs[0].const_data_ptr<S>() + at, inputs[1].const_data_ptr<S>() + at, count,
                 y.mutable_data_ptr<S>() + at);
    });
    return {{y}, inputs};
  };
  return apply({.forward = run, .backward = gradients}, inputs)[0];
}

}  // namespace fathom::ops
