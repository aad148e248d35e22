#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>

#include "ops/kernels/vector_clones.h"

namespace fathom::ops {

/// run_units() for the samples [begin, end). Static, because the linker does not merge the clones
/// of several files.
template <typename T, typename Tensors>
FATHOM_VECTOR_CLONES static void run_samples(const Tensors& tensors, int64_t width, int64_t begin,
                                             int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    FATHOM_INDEPENDENT
    for (int64_t unit = 0; unit < width; ++unit) run_unit<T>(tensors, width, n, unit);
  }
}

/// Calls run_unit<T>(tensors, width, n, unit), which argument-dependent look-up finds, for each of
/// the `width` units of each of the samples, on all intra-op threads.
template <typename T, typename Tensors>
void run_units(const Tensors& tensors, int64_t samples, int64_t width) {
  constexpr int64_t kGrain = 1 << 12;  // minimum units per thread
  const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(width, 1), 1);
  at::parallel_for(0, samples, grain,
                   [&](int64_t begin, int64_t end) { run_samples<T>(tensors, width, begin, end); });
}

}  // namespace fathom::ops
