#include "ops/kernels/decode_attention.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "ops/core/buffer.h"
#include "ops/kernels/lanes.h"
#include "ops/kernels/lstm_gates_rule.h"  // exponential()
#include "ops/kernels/vector_clones.h"
#include "ops/kernels/vector_sum.h"

namespace fathom::ops {
namespace {

constexpr int64_t kGrain = 1 << 15;  // minimum elements of keys per thread
constexpr int64_t kKeys = 4;         // of a pass over the query
constexpr int64_t kAhead = 32;       // rows between the loads and the prefetches

/// Rows of `width` elements, `stride` elements apart.
template <typename S>
struct Rows {
  const S* first;
  int64_t stride;

  const S* operator[](int64_t i) const { return first + i * stride; }
};

/// The query of a head and what it attends to.
template <typename T, typename S>
struct Head {
  const T* query;  ///< scaled
  Rows<S> keys;
  Rows<S> values;
  int64_t count;  ///< of keys
  int64_t width;
};

/// Writes the products of the query with `count` keys from `key`.
template <int64_t count, typename T, typename S>
[[gnu::always_inline]] inline void score_keys(const Head<T, S>& head, int64_t key, T* scores) {
  Lanes<T> sums[count] = {};
  const int64_t whole = head.width / kLanes<T> * kLanes<T>;
  for (int64_t d = 0; d < whole; d += kLanes<T>) {
    Lanes<T> query;
    load<T>(head.query + d, query);
    FATHOM_UNROLLED
    for (int64_t i = 0; i < count; ++i) {
      __builtin_prefetch(head.keys[key + i + kAhead] + d);
      Lanes<T> lanes;
      load<T>(head.keys[key + i] + d, lanes);
      sums[i] += query * lanes;
    }
  }
  FATHOM_UNROLLED
  for (int64_t i = 0; i < count; ++i) {
    scores[key + i] = sum<T>(sums[i]);
    for (int64_t d = whole; d < head.width; ++d) {
      scores[key + i] += head.query[d] * static_cast<T>(head.keys[key + i][d]);
    }
  }
}

/// Adds `count` values from `key`, weighed by `shares`, to `y`.
template <int64_t count, typename T, typename S>
[[gnu::always_inline]] inline void weigh_values(const Head<T, S>& head, int64_t key,
                                                const T* shares, T* y) {
  const int64_t whole = head.width / kLanes<T> * kLanes<T>;
  for (int64_t d = 0; d < whole; d += kLanes<T>) {
    Lanes<T> total;
    load<T>(y + d, total);
    FATHOM_UNROLLED
    for (int64_t i = 0; i < count; ++i) {
      __builtin_prefetch(head.values[key + i + kAhead] + d);
      Lanes<T> lanes;
      load<T>(head.values[key + i] + d, lanes);
      total += shares[key + i] * lanes;
    }
    std::memcpy(y + d, &total, sizeof total);
  }
  for (int64_t d = whole; d < head.width; ++d) {
    for (int64_t i = 0; i < count; ++i) {
      y[d] += shares[key + i] * static_cast<T>(head.values[key + i][d]);
    }
  }
}

/// Writes the result of a head to `y`. `scores` has space for the keys.
template <typename T, typename S>
FATHOM_VECTOR_CLONES void run_head(const Head<T, S>& head, T* scores, T* y) {
  const int64_t whole = head.count / kKeys * kKeys;
  for (int64_t key = 0; key < whole; key += kKeys) score_keys<kKeys>(head, key, scores);
  for (int64_t key = whole; key < head.count; ++key) score_keys<1>(head, key, scores);
  const T largest = *std::max_element(scores, scores + head.count);
  FATHOM_INDEPENDENT
  for (int64_t key = 0; key < head.count; ++key) scores[key] = exponential(scores[key] - largest);
  const T total = vector_sum<T>(head.count, [=](int64_t key) { return scores[key]; });
  std::fill(y, y + head.width, T{0});
  for (int64_t key = 0; key < whole; key += kKeys) weigh_values<kKeys>(head, key, scores, y);
  for (int64_t key = whole; key < head.count; ++key) weigh_values<1>(head, key, scores, y);
  for (int64_t d = 0; d < head.width; ++d) y[d] /= total;
}

bool has_kernel(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return q.is_cpu() && q.dim() == 4 && q.size(2) == 1 && q.size(0) == k.size(0) &&
         q.size(1) == k.size(1) && q.size(3) == k.size(3) && k.size(2) > 0 &&
         k.sizes() == v.sizes() && element(q.scalar_type()) && k.scalar_type() == q.scalar_type() &&
         v.scalar_type() == q.scalar_type();
}

}  // namespace

at::Tensor decode_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  if (!has_kernel(q, k, v)) return at::scaled_dot_product_attention(q, k, v);
  const at::Tensor keys = k.stride(3) == 1 ? k : k.contiguous();
  const at::Tensor values = v.stride(3) == 1 ? v : v.contiguous();
  const at::Tensor queries = q.contiguous();
  const int64_t heads = q.size(1);
  const int64_t count = k.size(2);
  const int64_t width = q.size(3);
  at::Tensor y = at::empty(q.sizes(), q.options());
  const int64_t grain = std::max<int64_t>(kGrain / (count * std::max<int64_t>(width, 1)), 1);
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, q.scalar_type(), "decode_attention", [&] {
        using T = at::opmath_type<scalar_t>;
        const T scale = 1 / std::sqrt(static_cast<T>(width));
        const auto rows = [&](const at::Tensor& of, int64_t n, int64_t head) -> Rows<scalar_t> {
          return {of.const_data_ptr<scalar_t>() + n * of.stride(0) + head * of.stride(1),
                  of.stride(2)};
        };
        const auto* from = queries.const_data_ptr<scalar_t>();
        auto* to = y.mutable_data_ptr<scalar_t>();
        at::parallel_for(0, q.size(0) * heads, grain, [&](int64_t begin, int64_t end) {
          std::vector<T> query(static_cast<std::size_t>(width));
          std::vector<T> result(static_cast<std::size_t>(width));
          std::vector<T> scores(static_cast<std::size_t>(count));
          for (int64_t i = begin; i < end; ++i) {
            std::transform(from + i * width, from + (i + 1) * width, query.begin(),
                           [scale](scalar_t element) { return static_cast<T>(element) * scale; });
            run_head(Head<T, scalar_t>{.query = query.data(),
                                       .keys = rows(keys, i / heads, i % heads),
                                       .values = rows(values, i / heads, i % heads),
                                       .count = count,
                                       .width = width},
                     scores.data(), result.data());
            std::transform(result.begin(), result.end(), to + i * width,
                           [](T element) { return static_cast<scalar_t>(element); });
          }
        });
      });
  return y;
}

}  // namespace fathom::ops
