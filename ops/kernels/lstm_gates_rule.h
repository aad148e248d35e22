#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/kernels/cuda/host_device.h"

namespace fathom::ops {

// The element-wise part of an LSTM cell (lstm_cell.h). It includes neither LibTorch nor CUDA, so
// that the CPU and a GPU run the same arithmetic.

FATHOM_HOST_DEVICE inline double exponential(double x) { return std::exp(x); }

/// Relative error up to 2.6e-7; |x| is clamped to 87. Without calls and branches, so that compilers
/// vectorize loops over it.
FATHOM_HOST_DEVICE inline float exponential(float x) {
#ifdef __CUDA_ARCH__
  return expf(x);
#else
  x = x < -87.0F ? -87.0F : x;
  x = x > 87.0F ? 87.0F : x;
  // x = whole · ln 2 + rest. Adding kNoFraction rounds to an integer in the last bits of `shifted`.
  constexpr float kNoFraction = 0x1.8p23F;
  const float shifted = x * 0x1.715476p0F + kNoFraction;
  const float whole = shifted - kNoFraction;
  const float rest = (x - whole * 0x1.62e4p-1F) - whole * 0x1.7f7d1cp-20F;
  const float series =
      1 +
      rest * (1 + rest * (1.0F / 2 +
                          rest * (1.0F / 6 +
                                  rest * (1.0F / 24 + rest * (1.0F / 120 + rest * (1.0F / 720))))));
  return series * std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) + 127) << 23);
#endif
}

template <typename T>
FATHOM_HOST_DEVICE inline T logistic(T x) {
  return 1 / (1 + exponential(-x));
}

template <typename T>
FATHOM_HOST_DEVICE inline T hyperbolic_tangent(T x) {
  return 1 - 2 / (1 + exponential(2 * x));
}

/// The values of the four gates for one unit.
template <typename T>
struct Gates {
  T i;  ///< input
  T f;  ///< forget
  T g;  ///< candidate
  T o;  ///< output

  FATHOM_HOST_DEVICE Gates activated() const {
    return {logistic(i), logistic(f), hyperbolic_tangent(g), logistic(o)};
  }
};

template <typename T>
struct CellState {
  T h;
  T c;
};

template <typename T>
FATHOM_HOST_DEVICE inline CellState<T> lstm_element(const Gates<T>& preactivations, T c) {
  const Gates<T> gates = preactivations.activated();
  const T next = gates.f * c + gates.i * gates.g;
  return {gates.o * hyperbolic_tangent(next), next};
}

template <typename T>
struct LstmElementGradients {
  Gates<T> preactivations;
  T c;
};

/// Gradients of the arguments of lstm_element; `next` holds the gradients of its results.
template <typename T>
FATHOM_HOST_DEVICE inline LstmElementGradients<T> lstm_element_backward(
    const Gates<T>& preactivations, T c, const CellState<T>& next) {
  const Gates<T> gates = preactivations.activated();
  const T squashed = hyperbolic_tangent(gates.f * c + gates.i * gates.g);
  const T dc = next.c + next.h * gates.o * (1 - squashed * squashed);
  return {{dc * gates.g * gates.i * (1 - gates.i), dc * c * gates.f * (1 - gates.f),
           dc * gates.i * (1 - gates.g * gates.g), next.h * squashed * gates.o * (1 - gates.o)},
          dc * gates.f};
}

/// Contiguous tensors of a cell with H units over N samples: the pre-activations are [N, 4H], the
/// others [N, H].
template <typename S>
struct LstmGatesForward {
  const S* preactivations;
  const S* c;
  S* next_h;
  S* next_c;
};

template <typename S>
struct LstmGatesBackward {
  const S* preactivations;
  const S* c;
  const S* next_h;  ///< gradients of the outputs
  const S* next_c;
  S* dpreactivations;
  S* dc;
};

template <typename S>
LstmGatesForward<S> typed(const LstmGatesForward<void>& tensors) {
  return {static_cast<const S*>(tensors.preactivations), static_cast<const S*>(tensors.c),
          static_cast<S*>(tensors.next_h), static_cast<S*>(tensors.next_c)};
}

template <typename S>
LstmGatesBackward<S> typed(const LstmGatesBackward<void>& tensors) {
  return {static_cast<const S*>(tensors.preactivations), static_cast<const S*>(tensors.c),
          static_cast<const S*>(tensors.next_h),         static_cast<const S*>(tensors.next_c),
          static_cast<S*>(tensors.dpreactivations),      static_cast<S*>(tensors.dc)};
}

template <typename T, typename S>
FATHOM_HOST_DEVICE inline Gates<T> load_gates(const S* preactivations, int64_t width, int64_t n,
                                              int64_t unit) {
  const S* row = preactivations + 4 * n * width + unit;
  return {static_cast<T>(row[0]), static_cast<T>(row[width]), static_cast<T>(row[2 * width]),
          static_cast<T>(row[3 * width])};
}

/// Computes unit `unit` of sample n in type T.
template <typename T, typename S>
FATHOM_HOST_DEVICE inline void run_unit(const LstmGatesForward<S>& tensors, int64_t width,
                                        int64_t n, int64_t unit) {
  const int64_t place = n * width + unit;
  const auto next = lstm_element(load_gates<T>(tensors.preactivations, width, n, unit),
                                 static_cast<T>(tensors.c[place]));
  tensors.next_h[place] = static_cast<S>(next.h);
  tensors.next_c[place] = static_cast<S>(next.c);
}

template <typename T, typename S>
FATHOM_HOST_DEVICE inline void run_unit(const LstmGatesBackward<S>& tensors, int64_t width,
                                        int64_t n, int64_t unit) {
  const int64_t place = n * width + unit;
  const auto found = lstm_element_backward(
      load_gates<T>(tensors.preactivations, width, n, unit), static_cast<T>(tensors.c[place]),
      CellState<T>{static_cast<T>(tensors.next_h[place]), static_cast<T>(tensors.next_c[place])});
  S* row = tensors.dpreactivations + 4 * n * width + unit;
  row[0] = static_cast<S>(found.preactivations.i);
  row[width] = static_cast<S>(found.preactivations.f);
  row[2 * width] = static_cast<S>(found.preactivations.g);
  row[3 * width] = static_cast<S>(found.preactivations.o);
  tensors.dc[place] = static_cast<S>(found.c);
}

}  // namespace fathom::ops
