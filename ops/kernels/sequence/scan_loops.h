#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ops/kernels/lstm_gates_rule.h"  // exponential(), logistic()
#include "ops/kernels/sequence/selective_scan.h"
#include "ops/kernels/vector_clones.h"

// The loops of a selective scan over blocks of channels, which the scan and its gradient run.

namespace fathom::ops::scan_loops {

/// Channels that one loop computes: a register of floats of AVX-512.
inline constexpr int64_t kBlock = 16;
/// Positions from one kept state to the next.
inline constexpr int64_t kChunk = 32;
/// Positions between a load and its prefetch: rows lie in pages that the CPU does not prefetch.
inline constexpr int64_t kAhead = 8;

[[gnu::always_inline]] inline double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

/// log(1 + w) = 2 · atanh(w / (2 + w)), whose series ends early: w is at most 1. Without calls and
/// branches, as exponential().
[[gnu::always_inline]] inline float softplus(float x) {
  const float w = exponential(x < 0 ? x : -x);
  const float share = w / (2 + w);
  const float square = share * share;
  const float series =
      1 +
      square *
          (1.0F / 3 +
           square * (1.0F / 5 +
                     square * (1.0F / 7 +
                               square * (1.0F / 9 + square * (1.0F / 11 + square * (1.0F / 13))))));
  return (x > 0 ? x : 0) + 2 * share * series;
}

/// Rows of C channels.
template <typename S>
struct Rows {
  S* data;
  int64_t sequence;  ///< stride
  int64_t position;

  S* at(int64_t n, int64_t t) const { return data + n * sequence + t * position; }
};

template <typename S>
Rows<const S> rows(const at::Tensor& x) {
  return {x.const_data_ptr<S>(), x.stride(0), x.stride(1)};
}

template <typename S>
Rows<S> written_rows(at::Tensor& x) {
  return {x.mutable_data_ptr<S>(), x.stride(0), x.stride(1)};
}

/// T is the type to compute in, S that of elements.
template <typename T, typename S>
struct Scan {
  Rows<const S> u;
  Rows<const S> delta;
  Rows<const S> z;
  const T* a;  ///< [states, channels], as all that has both
  const T* b;  ///< [N, positions, states]
  const T* c;
  const T* d;     ///< [channels]
  const T* bias;  ///< of delta
  int64_t sequences;
  int64_t positions;
  int64_t channels;
  int64_t states;

  int64_t chunks() const { return (positions + kChunk - 1) / kChunk; }
  int64_t blocks() const { return (channels + kBlock - 1) / kBlock; }
  int64_t width(int64_t block) const { return std::min(kBlock, channels - block * kBlock); }
};

template <typename T>
using Channels = T[kBlock];

/// Memory of `count` Channels, aligned for registers of 64 bytes: LibTorch aligns tensors so.
template <typename T>
at::Tensor scratch_memory(int64_t count) {
  return at::empty({count * kBlock}, at::CppTypeToScalarType<T>::value);
}

/// Channels past the last one are 0. Elements of T are copied as a whole: GCC would unroll a loop
/// into 16 stores, for which the vector that reads them waits.
template <typename T, typename S>
[[gnu::always_inline]] inline void load(const S* from, int64_t width, Channels<T>& to) {
  if (width == kBlock) {
    if constexpr (std::is_same_v<T, S>) {
      std::memcpy(to, from, sizeof to);
    } else {
      FATHOM_INDEPENDENT
      for (int64_t i = 0; i < kBlock; ++i) to[i] = static_cast<T>(from[i]);
    }
  } else {
    std::memset(to, 0, sizeof to);
    for (int64_t i = 0; i < width; ++i) to[i] = static_cast<T>(from[i]);
  }
}

template <typename T, typename S>
[[gnu::always_inline]] inline void store(const Channels<T>& from, int64_t width, S* to) {
  if constexpr (std::is_same_v<T, S>) {
    if (width == kBlock) {
      std::memcpy(to, from, sizeof from);
      return;
    }
  }
  FATHOM_INDEPENDENT
  for (int64_t i = 0; i < width; ++i) to[i] = static_cast<S>(from[i]);
}

/// logistic() of all. In one loop with what reads them GCC would branch at its limits.
template <typename T>
[[gnu::always_inline]] inline void shares(const Channels<T>& x, Channels<T>& to) {
  FATHOM_INDEPENDENT
  for (int64_t i = 0; i < kBlock; ++i) to[i] = logistic(x[i]);
}

/// The channels of a block from [states, channels].
template <typename T>
void load_states(const T* from, int64_t states, int64_t channels, int64_t width, Channels<T>* to) {
  for (int64_t s = 0; s < states; ++s) load<T>(from + s * channels, width, to[s]);
}

template <typename T>
void store_states(const Channels<T>* from, int64_t states, int64_t channels, int64_t width, T* to) {
  for (int64_t s = 0; s < states; ++s) store<T>(from[s], width, to + s * channels);
}

/// What the gradient reads of each position of a chunk.
template <typename T>
struct Recomputed {
  Channels<T>* before;  ///< [positions, states]: the states before a position
  Channels<T>* decay;   ///< [positions, states]: exp(step · a)
  Channels<T>* step;    ///< [positions]
  Channels<T>* read;    ///< [positions]: c · h + d · u
};

/// Positions `begin` to `end` of a block of channels of sequence n, whose states are `h`. Writes y
/// unless that is null; with `keeps`, writes what the gradient reads.
template <bool keeps, typename T, typename S>
[[gnu::always_inline]] inline void scan(const Scan<T, S>& scan, int64_t n, int64_t block,
                                        int64_t begin, int64_t end, const Channels<T>* a,
                                        Channels<T>* h, const Rows<S>* y,
                                        const Recomputed<T>* kept) {
  const int64_t first = block * kBlock;
  const int64_t width = scan.width(block);
  Channels<T> bias;
  Channels<T> d;
  load<T>(scan.bias + first, width, bias);
  load<T>(scan.d + first, width, d);
  for (int64_t t = begin; t < end; ++t) {
    Channels<T> step;
    Channels<T> u;
    Channels<T> driven;
    Channels<T> read;
    for (const auto& from : {scan.delta, scan.u, scan.z})
      __builtin_prefetch(from.at(n, t + kAhead) + first);
    load<T>(scan.delta.at(n, t) + first, width, step);
    load<T>(scan.u.at(n, t) + first, width, u);
    FATHOM_INDEPENDENT
    for (int64_t i = 0; i < kBlock; ++i) {
      step[i] = softplus(step[i] + bias[i]);
      driven[i] = step[i] * u[i];
      read[i] = d[i] * u[i];
    }
    const T* b = scan.b + (n * scan.positions + t) * scan.states;
    const T* c = scan.c + (n * scan.positions + t) * scan.states;
    for (int64_t s = 0; s < scan.states; ++s) {
      const T into = b[s];
      const T out = c[s];
      FATHOM_INDEPENDENT
      for (int64_t i = 0; i < kBlock; ++i) {
        const T decay = exponential(step[i] * a[s][i]);
        const T next = decay * h[s][i] + driven[i] * into;
        if constexpr (keeps) {
          const int64_t place = (t - begin) * scan.states + s;
          kept->before[place][i] = h[s][i];
          kept->decay[place][i] = decay;
        }
        h[s][i] = next;
        read[i] += next * out;
      }
    }
    if constexpr (keeps) {
      FATHOM_INDEPENDENT
      for (int64_t i = 0; i < kBlock; ++i) {
        kept->step[t - begin][i] = step[i];
        kept->read[t - begin][i] = read[i];
      }
    } else {
      Channels<T> z;
      load<T>(scan.z.at(n, t) + first, width, z);
      Channels<T> share;
      shares<T>(z, share);
      FATHOM_INDEPENDENT
      for (int64_t i = 0; i < kBlock; ++i) read[i] *= z[i] * share[i];
      store<T>(read, width, y->at(n, t) + first);
    }
  }
}

template <typename T, typename S>
Scan<T, S> scan_of(const ScanInputs& in) {
  return {.u = rows<S>(in.u),
          .delta = rows<S>(in.delta),
          .z = rows<S>(in.z),
          .a = in.a.const_data_ptr<T>(),
          .b = in.b.const_data_ptr<T>(),
          .c = in.c.const_data_ptr<T>(),
          .d = in.d.const_data_ptr<T>(),
          .bias = in.delta_bias.const_data_ptr<T>(),
          .sequences = in.u.size(0),
          .positions = in.u.size(1),
          .channels = in.u.size(2),
          .states = in.a.size(0)};
}

}  // namespace fathom::ops::scan_loops
