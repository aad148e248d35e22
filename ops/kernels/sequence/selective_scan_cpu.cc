#include "ops/kernels/sequence/selective_scan_cpu.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ops/kernels/lstm_gates_rule.h"  // exponential(), logistic()
#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

constexpr int64_t kBlock = 16;  // channels that one loop computes: a register of floats of AVX-512
constexpr int64_t kChunk = 32;  // positions from one kept state to the next
constexpr int64_t kGroup = 8;   // blocks of a task of the gradient
constexpr int64_t kAhead = 8;   // positions: rows lie in pages that the CPU does not prefetch

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

/// All positions of a block. `a` and `h` have a place for each state; h begins with the states
/// before the first position. `kept` may be null.
template <typename T, typename S>
FATHOM_VECTOR_CLONES void scan_block(const Scan<T, S>& in, int64_t n, int64_t block, Channels<T>* a,
                                     Channels<T>* h, const Rows<S>& y, T* kept) {
  const int64_t first = block * kBlock;
  const int64_t width = in.width(block);
  load_states(in.a + first, in.states, in.channels, width, a);
  for (int64_t chunk = 0; chunk < in.chunks(); ++chunk) {
    if (kept != nullptr) {
      T* states = kept + (n * in.chunks() + chunk) * in.states * in.channels;
      store_states(h, in.states, in.channels, width, states + first);
    }
    scan<false, T, S>(in, n, block, chunk * kChunk, std::min((chunk + 1) * kChunk, in.positions), a,
                      h, &y, nullptr);
  }
}

/// Gradients. Those of b and c are sums over the blocks of a group.
template <typename T, typename S>
struct ScanGradients {
  Rows<const S> g;  ///< of y
  Rows<S> u;
  Rows<S> delta;
  Rows<S> z;
  T* a;  ///< [N, states, channels]
  T* b;  ///< [groups, N, positions, states]
  T* c;
  T* d;     ///< [N, channels]
  T* bias;  ///< [N, channels]
};

/// What a task of the gradient computes in.
template <typename T>
class GradientScratch {
 public:
  explicit GradientScratch(int64_t states)
      : memory_(scratch_memory<T>(kGroup * (3 * states + 2) + kChunk * (4 * states + 2) + states)) {
    memory_.zero_();
    auto* next = reinterpret_cast<Channels<T>*>(memory_.mutable_data_ptr<T>());
    const auto take = [&](int64_t count) { return std::exchange(next, next + count); };
    a = take(kGroup * states);
    dh = take(kGroup * states);
    da = take(kGroup * states);
    dd = take(kGroup);
    dbias = take(kGroup);
    db = take(kChunk * states);
    dc = take(kChunk * states);
    chunk = {.before = take(kChunk * states),
             .decay = take(kChunk * states),
             .step = take(kChunk),
             .read = take(kChunk)};
    h = take(states);
  }

  Channels<T>* a;   // [kGroup, states]
  Channels<T>* dh;  // [kGroup, states]
  Channels<T>* da;  // [kGroup, states]
  Channels<T>* dd;  // [kGroup]
  Channels<T>* dbias;
  Channels<T>* db;  // [kChunk, states]
  Channels<T>* dc;
  Recomputed<T> chunk;
  Channels<T>* h;  // [states]

 private:
  at::Tensor memory_;
};

/// The positions `begin` to `end` of a block, from the last one. `slot` is the block's place in its
/// group.
template <typename T, typename S>
[[gnu::always_inline]] inline void chunk_gradient(const Scan<T, S>& in,
                                                  const ScanGradients<T, S>& out,
                                                  GradientScratch<T>& scratch, int64_t n,
                                                  int64_t block, int64_t slot, int64_t begin,
                                                  int64_t end) {
  const int64_t first = block * kBlock;
  const int64_t width = in.width(block);
  const Channels<T>* a = scratch.a + slot * in.states;
  Channels<T>* dh = scratch.dh + slot * in.states;
  Channels<T>* da = scratch.da + slot * in.states;
  Channels<T>& dd = scratch.dd[slot];
  Channels<T>& dbias = scratch.dbias[slot];
  Channels<T> bias;
  Channels<T> d;
  load<T>(in.bias + first, width, bias);
  load<T>(in.d + first, width, d);
  for (int64_t t = end - 1; t >= begin; --t) {
    const int64_t place = t - begin;
    Channels<T> u;
    Channels<T> delta;
    Channels<T> z;
    Channels<T> g;
    load<T>(in.u.at(n, t) + first, width, u);
    load<T>(in.delta.at(n, t) + first, width, delta);
    load<T>(in.z.at(n, t) + first, width, z);
    load<T>(out.g.at(n, t) + first, width, g);
    Channels<T> z_share;
    shares<T>(z, z_share);
    Channels<T> step;
    Channels<T> dstep;
    Channels<T> ddriven;
    FATHOM_INDEPENDENT
    for (int64_t i = 0; i < kBlock; ++i) {
      const T share = z_share[i];
      const T read = scratch.chunk.read[place][i];
      step[i] = scratch.chunk.step[place][i];
      const T through = g[i] * z[i] * share;  // the gradient of c · h + d · u
      z[i] = g[i] * read * share * (1 + z[i] * (1 - share));
      g[i] = through;
      dd[i] += through * u[i];
      dstep[i] = 0;
      ddriven[i] = 0;
    }
    store<T>(z, width, out.z.at(n, t) + first);
    Channels<T> step_share;  // the derivative of softplus
    FATHOM_INDEPENDENT
    for (int64_t i = 0; i < kBlock; ++i) step_share[i] = delta[i] + bias[i];
    shares<T>(step_share, step_share);
    const T* b = in.b + (n * in.positions + t) * in.states;
    const T* c = in.c + (n * in.positions + t) * in.states;
    for (int64_t s = 0; s < in.states; ++s) {
      const T into = b[s];
      const T read = c[s];
      const Channels<T>& before = scratch.chunk.before[place * in.states + s];
      const Channels<T>& decay = scratch.chunk.decay[place * in.states + s];
      Channels<T>& db = scratch.db[place * in.states + s];
      Channels<T>& dc = scratch.dc[place * in.states + s];
      FATHOM_INDEPENDENT
      for (int64_t i = 0; i < kBlock; ++i) {
        const T driven = step[i] * u[i];
        const T decayed = decay[i] * before[i];
        const T total = dh[s][i] + read * g[i];
        dc[i] += g[i] * (decayed + driven * into);
        db[i] += total * driven;
        da[s][i] += total * decayed * step[i];
        dstep[i] += total * decayed * a[s][i];
        ddriven[i] += total * into;
        dh[s][i] = total * decay[i];
      }
    }
    FATHOM_INDEPENDENT
    for (int64_t i = 0; i < kBlock; ++i) {
      delta[i] = (dstep[i] + ddriven[i] * u[i]) * step_share[i];
      dbias[i] += delta[i];
      u[i] = d[i] * g[i] + ddriven[i] * step[i];
    }
    store<T>(u, width, out.u.at(n, t) + first);
    store<T>(delta, width, out.delta.at(n, t) + first);
  }
}

/// Adds up the channels of each position and state.
template <typename T>
[[gnu::always_inline]] inline void sum_channels(Channels<T>* from, int64_t count, T* to) {
  for (int64_t j = 0; j < count; ++j) {
    T total = 0;
    for (int64_t i = 0; i < kBlock; ++i) {
      total += from[j][i];
      from[j][i] = 0;
    }
    to[j] = total;
  }
}

/// The gradients of a group of blocks of sequence n.
template <typename T, typename S>
FATHOM_VECTOR_CLONES void group_gradient(const Scan<T, S>& in, const T* kept,
                                         const ScanGradients<T, S>& out,
                                         GradientScratch<T>& scratch, int64_t n, int64_t group) {
  const int64_t begin_block = group * kGroup;
  const int64_t blocks = std::min(kGroup, in.blocks() - begin_block);
  for (int64_t slot = 0; slot < blocks; ++slot) {
    const int64_t block = begin_block + slot;
    load_states(in.a + block * kBlock, in.states, in.channels, in.width(block),
                scratch.a + slot * in.states);
  }
  for (int64_t chunk = in.chunks() - 1; chunk >= 0; --chunk) {
    const int64_t begin = chunk * kChunk;
    const int64_t end = std::min(begin + kChunk, in.positions);
    for (int64_t slot = 0; slot < blocks; ++slot) {
      const int64_t block = begin_block + slot;
      const T* states = kept + (n * in.chunks() + chunk) * in.states * in.channels;
      load_states(states + block * kBlock, in.states, in.channels, in.width(block), scratch.h);
      scan<true, T, S>(in, n, block, begin, end, scratch.a + slot * in.states, scratch.h, nullptr,
                       &scratch.chunk);
      chunk_gradient(in, out, scratch, n, block, slot, begin, end);
    }
    const int64_t place = ((group * in.sequences + n) * in.positions + begin) * in.states;
    sum_channels(scratch.db, (end - begin) * in.states, out.b + place);
    sum_channels(scratch.dc, (end - begin) * in.states, out.c + place);
  }
  for (int64_t slot = 0; slot < blocks; ++slot) {
    const int64_t block = begin_block + slot;
    const int64_t width = in.width(block);
    const int64_t first = block * kBlock;
    store_states(scratch.da + slot * in.states, in.states, in.channels, width,
                 out.a + n * in.states * in.channels + first);
    store<T>(scratch.dd[slot], width, out.d + n * in.channels + first);
    store<T>(scratch.dbias[slot], width, out.bias + n * in.channels + first);
  }
}

/// `in` with channels next to each other.
ScanInputs with_rows(const ScanInputs& in, at::ScalarType computed) {
  const auto in_rows = [](const at::Tensor& x) { return x.stride(2) == 1 ? x : x.contiguous(); };
  return {.u = in_rows(in.u),
          .delta = in_rows(in.delta),
          .a = in.a.t().contiguous(),
          .b = in.b.to(computed).contiguous(),
          .c = in.c.to(computed).contiguous(),
          .d = in.d.contiguous(),
          .z = in_rows(in.z),
          .delta_bias = in.delta_bias.contiguous()};
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

}  // namespace

ScannedStates selective_scan_cpu(const ScanInputs& in, const at::Tensor& state) {
  const ScanInputs x = with_rows(in, in.a.scalar_type());
  const at::TensorOptions options = x.a.options();
  const int64_t chunks = (x.u.size(1) + kChunk - 1) / kChunk;
  const int64_t n = x.u.size(0);
  const int64_t states = x.a.size(0);
  const int64_t channels = x.u.size(2);
  ScannedStates found{.y = at::empty(x.u.sizes(), x.u.options()),
                      .last = at::empty({n, states, channels}, options),
                      .kept = {}};
  at::Tensor initial;
  if (state.defined()) {
    initial = state.to(options.dtype()).contiguous();
  } else {
    found.kept = at::empty({n, chunks, states, channels}, options);
  }
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, x.u.scalar_type(), "selective_scan", [&] {
        using T = at::opmath_type<scalar_t>;
        const auto scan = scan_of<T, scalar_t>(x);
        const Rows<scalar_t> y = written_rows<scalar_t>(found.y);
        T* last = found.last.mutable_data_ptr<T>();
        T* kept = found.kept.defined() ? found.kept.mutable_data_ptr<T>() : nullptr;
        const T* before = initial.defined() ? initial.const_data_ptr<T>() : nullptr;
        at::parallel_for(0, n * scan.blocks(), 1, [&](int64_t begin, int64_t end) {
          const at::Tensor memory = scratch_memory<T>(2 * states);
          auto* a = reinterpret_cast<Channels<T>*>(memory.mutable_data_ptr<T>());
          Channels<T>* h = a + states;
          for (int64_t task = begin; task < end; ++task) {
            const int64_t sequence = task / scan.blocks();
            const int64_t block = task % scan.blocks();
            const int64_t place = sequence * states * channels + block * kBlock;
            const int64_t width = scan.width(block);
            std::fill_n(h[0], states * kBlock, T{0});
            if (before != nullptr) load_states(before + place, states, channels, width, h);
            scan_block(scan, sequence, block, a, h, y, kept);
            store_states(h, states, channels, width, last + place);
          }
        });
      });
  return found;
}

ScanInputs selective_scan_backward_cpu(const ScanInputs& in, const at::Tensor& kept,
                                       const at::Tensor& g) {
  const ScanInputs x = with_rows(in, in.a.scalar_type());
  const at::Tensor dy = g.contiguous();
  const at::TensorOptions options = x.a.options();
  const int64_t n = x.u.size(0);
  const int64_t states = x.a.size(0);
  const int64_t channels = x.u.size(2);
  const int64_t blocks = (channels + kBlock - 1) / kBlock;
  const int64_t groups = (blocks + kGroup - 1) / kGroup;
  at::Tensor du = at::empty(x.u.sizes(), x.u.options());
  at::Tensor ddelta = at::empty_like(du);
  at::Tensor dz = at::empty_like(du);
  at::Tensor da = at::empty({n, states, channels}, options);
  at::Tensor db = at::empty({groups, n, x.u.size(1), states}, options);
  at::Tensor dc = at::empty_like(db);
  at::Tensor dd = at::empty({n, channels}, options);
  at::Tensor dbias = at::empty_like(dd);
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, x.u.scalar_type(), "selective_scan_backward", [&] {
        using T = at::opmath_type<scalar_t>;
        const auto scan = scan_of<T, scalar_t>(x);
        const ScanGradients<T, scalar_t> out{.g = rows<scalar_t>(dy),
                                             .u = written_rows<scalar_t>(du),
                                             .delta = written_rows<scalar_t>(ddelta),
                                             .z = written_rows<scalar_t>(dz),
                                             .a = da.mutable_data_ptr<T>(),
                                             .b = db.mutable_data_ptr<T>(),
                                             .c = dc.mutable_data_ptr<T>(),
                                             .d = dd.mutable_data_ptr<T>(),
                                             .bias = dbias.mutable_data_ptr<T>()};
        const T* states_kept = kept.const_data_ptr<T>();
        at::parallel_for(0, n * groups, 1, [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task) {
            GradientScratch<T> scratch(states);
            group_gradient(scan, states_kept, out, scratch, task / groups, task % groups);
          }
        });
      });
  const auto over_groups = [&](const at::Tensor& parts) {
    return parts.sum(0).to(in.b.scalar_type());
  };
  return {.u = du,
          .delta = ddelta,
          .a = da.sum(0).t(),
          .b = over_groups(db),
          .c = over_groups(dc),
          .d = dd.sum(0),
          .z = dz,
          .delta_bias = dbias.sum(0)};
}

}  // namespace fathom::ops
