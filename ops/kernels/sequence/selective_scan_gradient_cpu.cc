#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>

#include <utility>

#include "ops/kernels/sequence/scan_loops.h"
#include "ops/kernels/sequence/selective_scan_cpu.h"

namespace fathom::ops {
namespace scan_loops {
namespace {

constexpr int64_t kGroup = 8;  // blocks of a task

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

ScanInputs gradients(const ScanInputs& in, const at::Tensor& kept, const at::Tensor& g) {
  const at::Tensor dy = g.contiguous();
  const at::TensorOptions options = in.a.options();
  const int64_t n = in.u.size(0);
  const int64_t states = in.a.size(0);
  const int64_t channels = in.u.size(2);
  const int64_t blocks = (channels + kBlock - 1) / kBlock;
  const int64_t groups = (blocks + kGroup - 1) / kGroup;
  at::Tensor du = at::empty(in.u.sizes(), in.u.options());
  at::Tensor ddelta = at::empty_like(du);
  at::Tensor dz = at::empty_like(du);
  at::Tensor da = at::empty({n, states, channels}, options);
  at::Tensor db = at::empty({groups, n, in.u.size(1), states}, options);
  at::Tensor dc = at::empty_like(db);
  at::Tensor dd = at::empty({n, channels}, options);
  at::Tensor dbias = at::empty_like(dd);
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, in.u.scalar_type(), "selective_scan_backward", [&] {
        using T = at::opmath_type<scalar_t>;
        const auto scan = scan_of<T, scalar_t>(in);
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
  return {.u = du,
          .delta = ddelta,
          .a = da.sum(0),
          .b = db.sum(0),
          .c = dc.sum(0),
          .d = dd.sum(0),
          .z = dz,
          .delta_bias = dbias.sum(0)};
}

}  // namespace
}  // namespace scan_loops

ScanInputs selective_scan_backward_cpu(const ScanInputs& in, const at::Tensor& kept,
                                       const at::Tensor& g) {
  return scan_loops::gradients(in, kept, g);
}

}  // namespace fathom::ops
