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
constexpr int64_t kQueries = 4;      // at most, of a pass over the keys
constexpr int64_t kBlock = 64;       // keys that stay in the L1 cache for all passes
constexpr int64_t kAhead = 32;       // rows between the loads and the prefetches

/// Rows of `width` elements, `stride` elements apart.
template <typename S>
struct Rows {
  const S* first;
  int64_t stride;

  const S* operator[](int64_t i) const { return first + i * stride; }
};

/// Queries that share keys, and what they attend to.
template <typename T, typename S>
struct Group {
  const T* queries;  ///< scaled, [heads, width]
  Rows<S> keys;
  Rows<S> values;
  const T* added;  ///< to the scores of the keys; null: 0
  int64_t heads;
  int64_t count;  ///< of keys
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

// Both loops below read the keys and the values in memory's order, once for all queries: a core
// that reads several rows in turn got two thirds of the bandwidth.

/// Writes the products of `queries` queries from `head` with `count` keys from `key`.
template <int64_t queries, int64_t count, typename T, typename S>
[[gnu::always_inline]] inline void score_keys(const Group<T, S>& group, int64_t head, int64_t key,
                                              T* scores) {
  Lanes<T> sums[queries][count];
  const T* first = group.queries + head * group.width;
  const int64_t whole = group.width / kLanes<T> * kLanes<T>;
  FATHOM_UNROLLED
  for (int64_t j = 0; j < count; ++j) {
    const S* row = group.keys[key + j];
    const S* ahead = group.keys[key + j + kAhead];
    Lanes<T> products[queries] = {};
    for (int64_t d = 0; d < whole; d += kLanes<T>) {
      __builtin_prefetch(ahead + d);
      Lanes<T> lanes;
      load<T>(row + d, lanes);
      FATHOM_UNROLLED
      for (int64_t i = 0; i < queries; ++i) {
        Lanes<T> query;
        load<T>(first + i * group.width + d, query);
        products[i] += query * lanes;
      }
    }
    FATHOM_UNROLLED
    for (int64_t i = 0; i < queries; ++i) sums[i][j] = products[i];
  }
  FATHOM_UNROLLED
  for (int64_t i = 0; i < queries; ++i) {
    T* to = scores + (head + i) * group.count + key;
    write_sums<count, T>(sums[i], to);
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t d = whole; d < group.width; ++d) {
        to[j] += first[i * group.width + d] * static_cast<T>(group.keys[key + j][d]);
      }
    }
  }
}

/// Adds `count` values from `key`, weighed by `shares`, to `queries` results from `head`.
template <int64_t queries, int64_t count, typename T, typename S>
[[gnu::always_inline]] inline void weigh_values(const Group<T, S>& group, int64_t head, int64_t key,
                                                const T* shares, T* y) {
  T own[queries][count];
  const S* rows[count];
  FATHOM_UNROLLED
  for (int64_t j = 0; j < count; ++j) {
    rows[j] = group.values[key + j];
    FATHOM_UNROLLED
    for (int64_t i = 0; i < queries; ++i) own[i][j] = shares[(head + i) * group.count + key + j];
  }
  const int64_t width = group.width;  // y may alias the group's
  const int64_t ahead = kAhead * group.values.stride;
  y += head * width;
  const int64_t whole = width / kLanes<T> * kLanes<T>;
  for (int64_t d = 0; d < whole; d += kLanes<T>) {
    Lanes<T> lanes[count];
    FATHOM_UNROLLED
    for (int64_t j = 0; j < count; ++j) {
      __builtin_prefetch(rows[j] + ahead + d);
      load<T>(rows[j] + d, lanes[j]);
    }
    FATHOM_UNROLLED
    for (int64_t i = 0; i < queries; ++i) {
      Lanes<T> total;
      load<T>(y + i * width + d, total);
      FATHOM_UNROLLED
      for (int64_t j = 0; j < count; ++j) total += own[i][j] * lanes[j];
      std::memcpy(y + i * width + d, &total, sizeof total);
    }
  }
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t d = whole; d < width; ++d) {
      for (int64_t j = 0; j < count; ++j) {
        y[i * width + d] += own[i][j] * static_cast<T>(rows[j][d]);
      }
    }
  }
}

/// The keys from `key` to `end` for at most `queries` queries from `head`.
template <int64_t queries, typename T, typename S>
[[gnu::always_inline]] inline void score_block(const Group<T, S>& group, int64_t head, int64_t key,
                                               int64_t end, T* scores) {
  if constexpr (queries > 1) {
    if (group.heads - head < queries)
      return score_block<queries - 1>(group, head, key, end, scores);
  }
  constexpr int64_t kKeys = 4;
  for (; key + kKeys <= end; key += kKeys) score_keys<queries, kKeys>(group, head, key, scores);
  for (; key < end; ++key) score_keys<queries, 1>(group, head, key, scores);
}

template <int64_t queries, typename T, typename S>
[[gnu::always_inline]] inline void weigh_block(const Group<T, S>& group, int64_t head, int64_t key,
                                               int64_t end, const T* shares, T* y) {
  if constexpr (queries > 1) {
    if (group.heads - head < queries)
      return weigh_block<queries - 1>(group, head, key, end, shares, y);
  }
  constexpr int64_t kKeys = 2;
  for (; key + kKeys <= end; key += kKeys) {
    weigh_values<queries, kKeys>(group, head, key, shares, y);
  }
  for (; key < end; ++key) weigh_values<queries, 1>(group, head, key, shares, y);
}

/// Writes the results of the queries to `y` [heads, width]. `scores` has space for [heads, keys].
template <typename T, typename S>
FATHOM_VECTOR_CLONES void run_group(const Group<T, S>& group, T* scores, T* y) {
  const int64_t count = group.count;
  for (int64_t block = 0; block < count; block += kBlock) {
    const int64_t end = std::min(block + kBlock, count);
    for (int64_t head = 0; head < group.heads; head += kQueries) {
      score_block<kQueries>(group, head, block, end, scores);
    }
  }
  std::fill(y, y + group.heads * group.width, T{0});
  if (count == 0) return;
  for (int64_t i = 0; i < group.heads; ++i) {
    T* shares = scores + i * count;
    if (group.added != nullptr) {
      FATHOM_INDEPENDENT
      for (int64_t key = 0; key < count; ++key) shares[key] += group.added[key];
    }
    const T largest = *std::max_element(shares, shares + count);
    FATHOM_INDEPENDENT
    for (int64_t key = 0; key < count; ++key) shares[key] = exponential(shares[key] - largest);
    const T total = vector_sum<T>(count, [=](int64_t key) { return shares[key]; });
    FATHOM_INDEPENDENT
    for (int64_t key = 0; key < count; ++key) shares[key] /= total;
  }
  for (int64_t block = 0; block < count; block += kBlock) {
    const int64_t end = std::min(block + kBlock, count);
    for (int64_t head = 0; head < group.heads; head += kQueries) {
      weigh_block<kQueries>(group, head, block, end, scores, y);
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
          run_group(
              Group<T, scalar_t>{.queries = query.data(),
                                 .keys = rows(keys, part, group),
                                 .values = rows(values, part, group),
                                 .added = masks == nullptr
                                              ? nullptr
                                              : masks + part.sequence * k.size(2) + part.first,
                                 .heads = heads,
                                 .count = part.count,
                                 .width = width},
              scores.data(), result.data());
          std::transform(result.begin(), result.end(), to + place,
                         [](T element) { return static_cast<scalar_t>(element); });
        });
      });
  return y;
}

}  // namespace fathom::ops
