#include "ops/kernels/sequence/selective_scan_cpu.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>

#include "ops/kernels/sequence/scan_loops.h"

namespace fathom::ops {
namespace scan_loops {
namespace {

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

ScannedStates scanned(const ScanInputs& in, const at::Tensor& state) {
  const at::TensorOptions options = in.a.options();
  const int64_t chunks = (in.u.size(1) + kChunk - 1) / kChunk;
  const int64_t n = in.u.size(0);
  const int64_t states = in.a.size(0);
  const int64_t channels = in.u.size(2);
  ScannedStates found{.y = at::empty(in.u.sizes(), in.u.options()),
                      .last = at::empty({n, states, channels}, options),
                      .kept = {}};
  at::Tensor initial;
  if (state.defined()) {
    initial = state.to(options.dtype()).contiguous();
  } else {
    found.kept = at::empty({n, chunks, states, channels}, options);
  }
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, in.u.scalar_type(), "selective_scan", [&] {
        using T = at::opmath_type<scalar_t>;
        const auto scan = scan_of<T, scalar_t>(in);
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

}  // namespace
}  // namespace scan_loops

ScannedStates selective_scan_cpu(const ScanInputs& in, const at::Tensor& state) {
  return scan_loops::scanned(in, state);
}

}  // namespace fathom::ops
