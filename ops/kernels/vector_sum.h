#pragma once

#include <cstdint>
#include <iterator>
#include <numeric>

namespace fathom::ops {

/// Σ_i term(i), i = 0 .. count - 1, in a function with FATHOM_VECTOR_CLONES. Independent sums, so
/// that no add waits for another.
template <typename T, typename Term>
[[gnu::always_inline]] inline T vector_sum(int64_t count, const Term& term) {
  constexpr int64_t kSums = 32;
  T sums[kSums] = {};
  const int64_t whole = count / kSums * kSums;
  for (int64_t i = 0; i < whole; i += kSums) {
    for (int64_t k = 0; k < kSums; ++k) sums[k] += term(i + k);
  }
  for (int64_t i = whole; i < count; ++i) sums[i - whole] += term(i);
  return std::accumulate(std::begin(sums), std::end(sums), T{0});
}

}  // namespace fathom::ops
