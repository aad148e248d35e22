#pragma once

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cstdint>
#include <cstring>

namespace fathom::ops {

/// 32 bytes of T in a register, which GCC and Clang add and multiply with the vector instructions
/// of the function's target: one register of AVX2 or AVX-512, two of SSE.
template <typename T>
using Lanes __attribute__((vector_size(32))) = T;

template <typename T>
constexpr int64_t kLanes = 32 / sizeof(T);

// References, not values: the ABI of a vector as a value depends on the target.

/// Numbers in fp16, each in the lower half of an integer of 32 bits, as floats.
template <typename Integers, typename Floats>
[[gnu::always_inline]] inline void widen_halves(const Integers& halves, Floats& to) {
  // The exponent and the fraction go to their places in a float, whose exponent counts from 112
  // lower. An exponent of ones stays one: infinity or NaN.
  Integers bits = (halves & 0x7FFF) << 13;
  bits |= (bits >= 0x7C00 << 13) & 0x7F800000;
  std::memcpy(&to, &bits, sizeof to);
  to *= 0x1p112F;
  std::memcpy(&bits, &to, sizeof to);
  bits |= (halves & 0x8000) << 16;
  std::memcpy(&to, &bits, sizeof to);
}

/// Loads elements of type T, of bfloat16 (the upper half of a float) or of fp16.
template <typename T, typename S>
[[gnu::always_inline]] inline void load(const S* from, Lanes<T>& to) {
  if constexpr (std::is_same_v<S, c10::BFloat16>) {
    uint16_t halves __attribute__((vector_size(16)));
    std::memcpy(&halves, from, sizeof halves);
    const Lanes<uint32_t> wide = __builtin_convertvector(halves, Lanes<uint32_t>) << 16;
    std::memcpy(&to, &wide, sizeof to);
  } else if constexpr (std::is_same_v<S, c10::Half>) {
    uint16_t halves __attribute__((vector_size(16)));
    std::memcpy(&halves, from, sizeof halves);
    widen_halves(__builtin_convertvector(halves, Lanes<int32_t>), to);
  } else {
    std::memcpy(&to, from, sizeof to);
  }
}

template <typename T>
[[gnu::always_inline]] inline T sum(const Lanes<T>& lanes) {
  T total = lanes[0];
  for (int64_t i = 1; i < kLanes<T>; ++i) total += lanes[i];
  return total;
}

}  // namespace fathom::ops
