#include "ops/kernels/decode_attention.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "ops/core/buffer.h"
#include "ops/kernels/idle_threads.h"
#include "ops/kernels/lanes.h"
#include "ops/kernels/lstm_gates_rule.h"  // exponential()
#include "ops/kernels/vector_clones.h"
#include "ops/kernels/vector_sum.h"

namespace fathom::ops {
namespace {

constexpr int64_t kGrain = 1 << 15;  // minimum elements of keys per thread
constexpr int64_t kKeys = 4;         // of a pass over the query
constexpr int64_t kBlock = 64;       // keys for all queries that share them
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
  const T* added;  ///< to the scores of the keys; null: 0
  int64_t count;   ///< of keys
  int64_t width;
};

/// Sums of neighbours of both registers, in turn. No lambda: GCC compiles it for the oldest target.
[[gnu::always_inline]] inline void add_pairs(const Lanes<float>& a, const Lanes<float>& b,
                                             Lanes<float>& sums) {
  sums = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14) +
         __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
}

/// The sum of each of several registers: for four of floats, in a tree of vectors.
template <int64_t count, typename T>
[[gnu::always_inline]] inline void write_sums(const Lanes<T> (&rows)[count], T* to) {
  if constexpr (count == 4 && std::is_same_v<T, float>) {
    Lanes<T> low;
    Lanes<T> high;
    add_pairs(rows[0], rows[1], low);
    add_pairs(rows[2], rows[3], high);
    const Lanes<T> halves = __builtin_shufflevector(low, high, 0, 1, 8, 9, 4, 5, 12, 13) +
                            __builtin_shufflevector(low, high, 2, 3, 10, 11, 6, 7, 14, 15);
    for (int64_t i = 0; i < count; ++i) to[i] = halves[i] + halves[count + i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = sum<T>(rows[i]);
  }
}

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
  write_sums<count, T>(sums, scores + key);
  for (int64_t i = 0; i < count; ++i) {
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

template <typename T, typename S>
[[gnu::always_inline]] inline void score_block(const Head<T, S>& head, int64_t key, int64_t end,
                                               T* scores) {
  for (; key + kKeys <= end; key += kKeys) score_keys<kKeys>(head, key, scores);
  for (; key < end; ++key) score_keys<1>(head, key, scores);
}

template <typename T, typename S>
[[gnu::always_inline]] inline void weigh_block(const Head<T, S>& head, int64_t key, int64_t end,
                                               const T* shares, T* y) {
  for (; key + kKeys <= end; key += kKeys) weigh_values<kKeys>(head, key, shares, y);
  for (; key < end; ++key) weigh_values<1>(head, key, shares, y);
}

/// Writes the results of `queries` heads that share keys to `y` [queries, width]. `scores` has
/// space for [queries, keys]. A block of keys stays in the L1 cache for all of them.
template <typename T, typename S>
FATHOM_VECTOR_CLONES void run_heads(Head<T, S> head, int64_t queries, T* scores, T* y) {
  const int64_t count = head.count;
  const T* first = head.query;
  for (int64_t block = 0; block < count; block += kBlock) {
    for (int64_t i = 0; i < queries; ++i) {
      head.query = first + i * head.width;
      score_block(head, block, std::min(block + kBlock, count), scores + i * count);
    }
  }
  std::fill(y, y + queries * head.width, T{0});
  if (count == 0) return;
  for (int64_t i = 0; i < queries; ++i) {
    T* shares = scores + i * count;
    if (head.added != nullptr) {
      FATHOM_INDEPENDENT
      for (int64_t key = 0; key < count; ++key) shares[key] += head.added[key];
    }
    const T largest = *std::max_element(shares, shares + count);
    FATHOM_INDEPENDENT
    for (int64_t key = 0; key < count; ++key) shares[key] = exponential(shares[key] - largest);
    const T total = vector_sum<T>(count, [=](int64_t key) { return shares[key]; });
    FATHOM_INDEPENDENT
    for (int64_t key = 0; key < count; ++key) shares[key] /= total;
  }
  for (int64_t block = 0; block < count; block += kBlock) {
    for (int64_t i = 0; i < queries; ++i) {
      weigh_block(head, block, std::min(block + kBlock, count), scores + i * count,
                  y + i * head.width);
    }
  }
}

/// The keys of a sequence from the first to the last that its mask shows.
struct Shown {
  int64_t sequence;
  int64_t first;
  int64_t count;
};

/// For a mask [N, S] of what is added to the scores, the longest sequence first; all S keys of N
/// sequences without one.
template <typename T>
std::vector<Shown> shown_keys(const T* mask, int64_t sequences, int64_t keys) {
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  std::vector<Shown> all;
  for (int64_t n = 0; n < sequences; ++n) {
    auto& [sequence, first, count] = all.emplace_back(Shown{n, 0, keys});
    if (mask == nullptr) continue;
    const T* own = mask + n * keys;
    while (count > 0 && own[count - 1] == kHidden) --count;
    while (first < count && own[first] == kHidden) ++first;
    count -= first;
  }
  std::ranges::stable_sort(all, std::ranges::greater{}, &Shown::count);
  return all;
}

/// Threads for keys of `width` elements each.
int64_t threads_for(const std::vector<Shown>& shown, int64_t width) {
  int64_t elements = 0;
  for (const auto& one : shown) elements += one.count * width;
  return std::clamp<int64_t>(elements / kGrain, 1, at::get_num_threads());
}

/// Whether a mask hides keys of whole sequences.
bool masks_sequences(const at::Tensor& mask, const at::Tensor& q, const at::Tensor& k) {
  return (mask.scalar_type() == at::kBool || mask.scalar_type() == q.scalar_type()) &&
         mask.dim() == 4 && (mask.size(0) == 1 || mask.size(0) == q.size(0)) && mask.size(1) == 1 &&
         mask.size(2) == 1 && mask.size(3) == k.size(2);
}

/// A mask as what is added to the scores, [N, S]; undefined where there is none.
at::Tensor added_to_scores(const std::optional<at::Tensor>& mask, int64_t sequences,
                           at::ScalarType type) {
  if (!mask) return {};
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  const at::Tensor added =
      mask->scalar_type() == at::kBool ? at::where(*mask, 0.0, kHidden).to(type) : mask->to(type);
  return added.expand({sequences, 1, 1, -1}).contiguous();
}

bool has_kernel(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                const std::optional<at::Tensor>& mask) {
  return q.is_cpu() && q.dim() == 4 && q.size(2) == 1 && q.size(0) == k.size(0) &&
         (!mask || masks_sequences(*mask, q, k)) && q.size(1) % k.size(1) == 0 &&
         q.size(3) == k.size(3) && k.size(2) > 0 && k.sizes() == v.sizes() &&
         element(q.scalar_type()) && k.scalar_type() == q.scalar_type() &&
         v.scalar_type() == q.scalar_type();
}

}  // namespace

at::Tensor mask_of_lengths(const std::vector<int64_t>& lengths, int64_t keys) {
  return at::arange(keys) >= keys - at::tensor(lengths).view({-1, 1, 1, 1});
}

std::vector<int64_t> lengths_of_mask(const at::Tensor& mask) {
  if (mask.dim() != 4 || mask.size(1) != 1 || mask.size(2) != 1) return {};
  const at::Tensor here = mask.cpu();
  const at::Tensor shown = here.scalar_type() == at::kBool ? here : here.isneginf().logical_not();
  const at::Tensor counts = shown.sum({1, 2, 3});
  const auto* first = counts.const_data_ptr<int64_t>();
  std::vector<int64_t> lengths(first, first + counts.numel());
  const bool fits = shown.equal(mask_of_lengths(lengths, mask.size(3))) &&
                    !shown.all().item<bool>() && std::ranges::find(lengths, 0) == lengths.end();
  return fits ? lengths : std::vector<int64_t>();
}

at::Tensor decode_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            std::optional<double> scale, const std::optional<at::Tensor>& mask) {
  if (!has_kernel(q, k, v, mask))
    return at::scaled_dot_product_attention(q, k, v, mask, /*dropout_p=*/0, /*is_causal=*/false,
                                            scale, /*enable_gqa=*/q.size(1) != k.size(1));
  const at::Tensor keys = k.stride(3) == 1 ? k : k.contiguous();
  const at::Tensor values = v.stride(3) == 1 ? v : v.contiguous();
  const at::Tensor queries = q.contiguous();
  const int64_t sequences = q.size(0);
  const int64_t groups = k.size(1);
  const int64_t heads = q.size(1) / groups;  // of a group
  const int64_t width = q.size(3);
  at::Tensor y = at::empty(q.sizes(), q.options());
  const at::Tensor added = added_to_scores(mask, sequences, at::toOpMathType(q.scalar_type()));
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, q.scalar_type(), "decode_attention", [&] {
        using T = at::opmath_type<scalar_t>;
        const T factor = static_cast<T>(scale.value_or(1 / std::sqrt(static_cast<double>(width))));
        const T* const masks = added.defined() ? added.const_data_ptr<T>() : nullptr;
        const std::vector<Shown> shown = shown_keys(masks, sequences, k.size(2));
        const auto rows = [&](const at::Tensor& of, const Shown& part,
                              int64_t group) -> Rows<scalar_t> {
          return {of.const_data_ptr<scalar_t>() + part.sequence * of.stride(0) +
                      group * of.stride(1) + part.first * of.stride(2),
                  of.stride(2)};
        };
        const auto* from = queries.const_data_ptr<scalar_t>();
        auto* to = y.mutable_data_ptr<scalar_t>();
        const int64_t elements = heads * width;  // of a group's queries
        run_on_idle_threads(threads_for(shown, groups * width), sequences * groups, [&](int64_t i) {
          const Shown& part = shown[static_cast<std::size_t>(i / groups)];
          const int64_t group = i % groups;
          std::vector<T> query(static_cast<std::size_t>(elements));
          std::vector<T> result(static_cast<std::size_t>(elements));
          std::vector<T> scores(static_cast<std::size_t>(heads * part.count));
          const int64_t place = (part.sequence * groups + group) * elements;
          std::transform(from + place, from + place + elements, query.begin(),
                         [factor](scalar_t element) { return static_cast<T>(element) * factor; });
          run_heads(Head<T, scalar_t>{.query = query.data(),
                                      .keys = rows(keys, part, group),
                                      .values = rows(values, part, group),
                                      .added = masks == nullptr
                                                   ? nullptr
                                                   : masks + part.sequence * k.size(2) + part.first,
                                      .count = part.count,
                                      .width = width},
                    heads, scores.data(), result.data());
          std::transform(result.begin(), result.end(), to + place,
                         [](T element) { return static_cast<scalar_t>(element); });
        });
      });
  return y;
}

}  // namespace fathom::ops
