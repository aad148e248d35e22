#pragma once

#include <cmath>
#include <cstdint>

#include "ops/kernels/cuda/host_device.h"

namespace fathom::ops {

// A selective scan (ops/kernels/sequence/selective_scan.h) in one GPU thread: it has one channel of
// a sequence and keeps its states in registers. Neighbouring threads have neighbouring channels, so
// every load and store is coalesced; all read the same b and c. The gradient computes the states of
// some positions again, from those that the scan kept before the first of them.
// Written without CUDA, so that a CPU test runs the same arithmetic.

inline constexpr int kMaxStates = 16;
inline constexpr int64_t kScanChunk = 16;  // positions from one kept state to the next

/// Elements of T of [N, positions, C], whose channels are neighbours.
struct ChannelRows {
  const void* data;
  int64_t sequence;  ///< stride
  int64_t position;

  template <typename T>
  FATHOM_HOST_DEVICE const T* at(int64_t n, int64_t channel) const {
    return static_cast<const T*>(data) + n * sequence + channel;
  }
};

/// Tensors of T, the type of elements, or of Sum, the type to compute in.
struct ScanTensors {
  ChannelRows u;
  ChannelRows delta;
  ChannelRows z;
  const void* a;       ///< Sum [states, C]
  const void* b;       ///< Sum [N, positions, states]
  const void* c;       ///< Sum [N, positions, states]
  const void* d;       ///< Sum [C]
  const void* bias;    ///< Sum [C], of delta
  const void* before;  ///< Sum [N, states, C]: where the scan begins; null: at 0
  int64_t sequences;
  int64_t positions;
  int64_t channels;
  int states;

  FATHOM_HOST_DEVICE int64_t chunks() const { return (positions + kScanChunk - 1) / kScanChunk; }
  /// The element of state 0 in a tensor [..., states, C].
  FATHOM_HOST_DEVICE int64_t states_at(int64_t place, int64_t channel) const {
    return place * states * channels + channel;
  }
};

/// What a scan writes.
struct ScanOutputs {
  void* y;     ///< T [N, positions, C]
  void* last;  ///< Sum [N, states, C]
  void* kept;  ///< Sum [N, chunks, states, C]; null: not wanted
};

/// The gradients but those of b and c, which are sums over channels.
struct ScanChannelGradients {
  ChannelRows g;     ///< of y
  const void* kept;  ///< Sum [N, chunks, states, C]
  void* u;           ///< T [N, positions, C]
  void* delta;
  void* z;
  void* a;     ///< Sum [N, states, C]
  void* d;     ///< Sum [N, C]
  void* bias;  ///< Sum [N, C]
};

/// softplus(x), without an overflow or a loss of digits for any x.
template <typename Sum>
FATHOM_HOST_DEVICE inline Sum step_size(Sum x) {
  return (x > 0 ? x : 0) + std::log1p(std::exp(x > 0 ? -x : x));
}

/// The logistic function, the derivative of softplus.
template <typename Sum>
FATHOM_HOST_DEVICE inline Sum share_of(Sum x) {
  return 1 / (1 + std::exp(-x));
}

/// Calls visit(s) for each state, without a loop on a GPU.
template <typename Visit>
FATHOM_HOST_DEVICE inline void for_states(int states, const Visit& visit) {
  FATHOM_UNROLL
  for (int s = 0; s < kMaxStates; ++s) {
    if (s < states) visit(s);
  }
}

/// All positions of a channel.
template <typename T, typename Sum>
FATHOM_HOST_DEVICE inline void scan_channel(const ScanTensors& in, int64_t n, int64_t channel,
                                            const ScanOutputs& out) {
  const auto* before = static_cast<const Sum*>(in.before);
  Sum a[kMaxStates];
  Sum h[kMaxStates];
  for_states(in.states, [&](int s) {
    a[s] = static_cast<const Sum*>(in.a)[s * in.channels + channel];
    h[s] = before == nullptr ? Sum{0} : before[in.states_at(n, channel) + s * in.channels];
  });
  const Sum bias = static_cast<const Sum*>(in.bias)[channel];
  const Sum d = static_cast<const Sum*>(in.d)[channel];
  const T* u = in.u.at<T>(n, channel);
  const T* delta = in.delta.at<T>(n, channel);
  const T* z = in.z.at<T>(n, channel);
  T* y = static_cast<T*>(out.y) + n * in.positions * in.channels + channel;
  const Sum* b = static_cast<const Sum*>(in.b) + n * in.positions * in.states;
  const Sum* c = static_cast<const Sum*>(in.c) + n * in.positions * in.states;
  for (int64_t t = 0; t < in.positions; ++t, b += in.states, c += in.states) {
    if (out.kept != nullptr && t % kScanChunk == 0) {
      Sum* to =
          static_cast<Sum*>(out.kept) + in.states_at(n * in.chunks() + t / kScanChunk, channel);
      for_states(in.states, [&](int s) { to[s * in.channels] = h[s]; });
    }
    const Sum step = step_size(static_cast<Sum>(delta[t * in.delta.position]) + bias);
    const Sum input = static_cast<Sum>(u[t * in.u.position]);
    const Sum gate = static_cast<Sum>(z[t * in.z.position]);
    Sum read = d * input;
    for_states(in.states, [&](int s) {
      h[s] = std::exp(step * a[s]) * h[s] + step * input * b[s];
      read += h[s] * c[s];
    });
    y[t * in.channels] = static_cast<T>(read * gate * share_of(gate));
  }
  Sum* last = static_cast<Sum*>(out.last) + in.states_at(n, channel);
  for_states(in.states, [&](int s) { last[s * in.channels] = h[s]; });
}

/// The gradients of a channel from what scan_channel() kept. For each position t, from the last, it
/// calls add(t, values) with the channel's parts of the gradients of b and c, kMaxStates each.
/// Writes nothing where `inside` is false.
template <typename T, typename Sum, typename Add>
FATHOM_HOST_DEVICE inline void scan_channel_backward(const ScanTensors& in, int64_t n,
                                                     int64_t channel, bool inside,
                                                     const ScanChannelGradients& out,
                                                     const Add& add) {
  Sum a[kMaxStates];
  Sum dh[kMaxStates] = {};
  Sum da[kMaxStates] = {};
  Sum dd = 0;
  Sum dbias = 0;
  for_states(in.states,
             [&](int s) { a[s] = static_cast<const Sum*>(in.a)[s * in.channels + channel]; });
  const Sum bias = static_cast<const Sum*>(in.bias)[channel];
  const Sum d = static_cast<const Sum*>(in.d)[channel];
  const T* u = in.u.at<T>(n, channel);
  const T* delta = in.delta.at<T>(n, channel);
  const T* z = in.z.at<T>(n, channel);
  const T* g = out.g.at<T>(n, channel);
  const int64_t first = n * in.positions * in.channels + channel;  // of what it writes
  for (int64_t chunk = in.chunks() - 1; chunk >= 0; --chunk) {
    const int64_t begin = chunk * kScanChunk;
    const int64_t end = begin + kScanChunk < in.positions ? begin + kScanChunk : in.positions;
    Sum before[kScanChunk][kMaxStates];  // the states before each position
    const Sum* from =
        static_cast<const Sum*>(out.kept) + in.states_at(n * in.chunks() + chunk, channel);
    for_states(in.states, [&](int s) { before[0][s] = from[s * in.channels]; });
    for (int64_t t = begin; t + 1 < end; ++t) {
      const Sum step = step_size(static_cast<Sum>(delta[t * in.delta.position]) + bias);
      const Sum driven = step * static_cast<Sum>(u[t * in.u.position]);
      const Sum* b = static_cast<const Sum*>(in.b) + (n * in.positions + t) * in.states;
      for_states(in.states, [&](int s) {
        before[t - begin + 1][s] = std::exp(step * a[s]) * before[t - begin][s] + driven * b[s];
      });
    }
    for (int64_t t = end - 1; t >= begin; --t) {
      const Sum* b = static_cast<const Sum*>(in.b) + (n * in.positions + t) * in.states;
      const Sum* c = static_cast<const Sum*>(in.c) + (n * in.positions + t) * in.states;
      const Sum preactivation = static_cast<Sum>(delta[t * in.delta.position]) + bias;
      const Sum step = step_size(preactivation);
      const Sum input = static_cast<Sum>(u[t * in.u.position]);
      const Sum gate = static_cast<Sum>(z[t * in.z.position]);
      const Sum share = share_of(gate);
      const Sum gradient = static_cast<Sum>(g[t * out.g.position]);
      const Sum through = gradient * gate * share;  // the gradient of c · h + d · u
      const Sum driven = step * input;
      Sum read = d * input;
      Sum dstep = 0;
      Sum ddriven = 0;
      Sum parts[2 * kMaxStates] = {};
      for_states(in.states, [&](int s) {
        const Sum decay = std::exp(step * a[s]);
        const Sum decayed = decay * before[t - begin][s];
        const Sum h = decayed + driven * b[s];
        const Sum total = dh[s] + c[s] * through;
        read += h * c[s];
        parts[s] = total * driven;
        parts[kMaxStates + s] = through * h;
        da[s] += total * decayed * step;
        dstep += total * decayed * a[s];
        ddriven += total * b[s];
        dh[s] = total * decay;
      });
      add(t, parts);
      const Sum ddelta = (dstep + ddriven * input) * share_of(preactivation);
      dd += through * input;
      dbias += ddelta;
      if (!inside) continue;
      const int64_t place = first + t * in.channels;
      static_cast<T*>(out.u)[place] = static_cast<T>(d * through + ddriven * step);
      static_cast<T*>(out.delta)[place] = static_cast<T>(ddelta);
      static_cast<T*>(out.z)[place] =
          static_cast<T>(gradient * read * share * (1 + gate * (1 - share)));
    }
  }
  if (!inside) return;
  Sum* to = static_cast<Sum*>(out.a) + in.states_at(n, channel);
  for_states(in.states, [&](int s) { to[s * in.channels] = da[s]; });
  static_cast<Sum*>(out.d)[n * in.channels + channel] = dd;
  static_cast<Sum*>(out.bias)[n * in.channels + channel] = dbias;
}

}  // namespace fathom::ops
