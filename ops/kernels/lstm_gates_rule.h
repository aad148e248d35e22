#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "ops/kernels/cuda/host_device.h"

namespace fathom::ops {

// What an LSTM cell makes of its products, element by element (lstm_cell.h). Written without
// LibTorch and CUDA, so that the CPU and a GPU run the very same.

FATHOM_HOST_DEVICE inline double exponential(double x) { return std::exp(x); }

/// To 2e-7 of itself, for |x| beyond 87 as at 87. Without calls and branches, so that compilers
/// make vector instructions of its loops.
FATHOM_HOST_DEVICE inline float exponential(float x) {
#ifdef __CUDA_ARCH__
  return expf(x);
#else
  x = x < -87.0F ? -87.0F : x;
  x = x > 87.0F ? 87.0F : x;
  // x = whole · ln 2 + rest. So large a number keeps no fraction: its last bits are `whole`.
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

/// What one element has of each gate.
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
FATHOM_HOST_DEVICE inline CellState<T> lstm_element(const Gates<T>& products, T c) {
  const Gates<T> gates = products.activated();
  const T next = gates.f * c + gates.i * gates.g;
  return {gates.o * hyperbolic_tangent(next), next};
}

template <typename T>
struct LstmElementGradients {
  Gates<T> products;
  T c;
};

/// From the gradients to both next states.
template <typename T>
FATHOM_HOST_DEVICE inline LstmElementGradients<T> lstm_element_backward(const Gates<T>& products,
                                                                        T c,
                                                                        const CellState<T>& next) {
  const Gates<T> gates = products.activated();
  const T squashed = hyperbolic_tangent(gates.f * c + gates.i * gates.g);
  const T dc = next.c + next.h * gates.o * (1 - squashed * squashed);
  return {{dc * gates.g * gates.i * (1 - gates.i), dc * c * gates.f * (1 - gates.f),
           dc * gates.i * (1 - gates.g * gates.g), next.h * squashed * gates.o * (1 - gates.o)},
          dc * gates.f};
}

/// Tensors of a cell of H units over N samples, contiguous: products [N, 4H], the rest [N, H].
template <typename S>
struct LstmGatesForward {
  const S* products;
  const S* c;
  S* next_h;
  S* next_c;
};

template <typename S>
struct LstmGatesBackward {
  const S* products;
  const S* c;
  const S* next_h;  ///< the gradients that arrive
  const S* next_c;
  S* dproducts;
  S* dc;
};

template <typename S>
LstmGatesForward<S> typed(const LstmGatesForward<void>& at) {
  return {static_cast<const S*>(at.products), static_cast<const S*>(at.c),
          static_cast<S*>(at.next_h), static_cast<S*>(at.next_c)};
}

template <typename S>
LstmGatesBackward<S> typed(const LstmGatesBackward<void>& at) {
  return {static_cast<const S*>(at.products), static_cast<const S*>(at.c),
          static_cast<const S*>(at.next_h),   static_cast<const S*>(at.next_c),
          static_cast<S*>(at.dproducts),      static_cast<S*>(at.dc)};
}

template <typename T, typename S>
FATHOM_HOST_DEVICE inline Gates<T> load_gates(const S* products, int64_t width, int64_t n,
                                              int64_t unit) {
  const S* row = products + 4 * n * width + unit;
  return {static_cast<T>(row[0]), static_cast<T>(row[width]), static_cast<T>(row[2 * width]),
          static_cast<T>(row[3 * width])};
}

/// Unit `unit` of sample n, computed in type T.
template <typename T, typename S>
FATHOM_HOST_DEVICE inline void run_unit(const LstmGatesForward<S>& at, int64_t width, int64_t n,
                                        int64_t unit) {
  const int64_t place = n * width + unit;
  const auto next =
      lstm_element(load_gates<T>(at.products, width, n, unit), static_cast<T>(at.c[place]));
  at.next_h[place] = static_cast<S>(next.h);
  at.next_c[place] = static_cast<S>(next.c);
}

template <typename T, typename S>
FATHOM_HOST_DEVICE inline void run_unit(const LstmGatesBackward<S>& at, int64_t width, int64_t n,
                                        int64_t unit) {
  const int64_t place = n * width + unit;
  const auto found = lstm_element_backward(
      load_gates<T>(at.products, width, n, unit), static_cast<T>(at.c[place]),
      CellState<T>{static_cast<T>(at.next_h[place]), static_cast<T>(at.next_c[place])});
  S* row = at.dproducts + 4 * n * width + unit;
  row[0] = static_cast<S>(found.products.i);
  row[width] = static_cast<S>(found.products.f);
  row[2 * width] = static_cast<S>(found.products.g);
  row[3 * width] = static_cast<S>(found.products.o);
  at.dc[place] = static_cast<S>(found.c);
}

}  // namespace fathom::ops
