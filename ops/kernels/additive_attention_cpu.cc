#include "ops/kernels/additive_attention_cpu.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/kernels/lstm_gates_rule.h"  // hyperbolic_tangent()
#include "ops/kernels/vector_clones.h"
#include "ops/kernels/vector_sum.h"

namespace fathom::ops {
namespace {

constexpr int64_t kGrain = 1 << 14;  // minimum elements per thread

struct Extents {
  int64_t places;
  int64_t width;  ///< of the memory
  int64_t query;  ///< of query, keys and score
};

Extents extents_of(const AttentionInputs& in) {
  return {.places = in.keys.size(1), .width = in.memory.size(2), .query = in.keys.size(2)};
}

/// Minimum samples per thread.
int64_t grain(const Extents& extents) {
  return std::max<int64_t>(kGrain / (extents.places * (extents.width + extents.query)), 1);
}

/// The inputs of one sample.
template <typename S>
struct Sample {
  const S* memory;  ///< [T, H]
  const S* keys;    ///< [T, A]
  const S* query;   ///< [A]
  const S* score;   ///< [A]
  const S* mask;    ///< [T]; null: none

  Sample(const AttentionInputs& in, const Extents& extents, int64_t n)
      : memory(in.memory.const_data_ptr<S>() + n * extents.places * extents.width),
        keys(in.keys.const_data_ptr<S>() + n * extents.places * extents.query),
        query(in.query.const_data_ptr<S>() + n * extents.query),
        score(in.score.const_data_ptr<S>()),
        mask(in.mask ? in.mask->const_data_ptr<S>() + n * extents.places : nullptr) {}
};

/// Writes scores [T] of the places, -infinity for masked ones.
template <typename T, typename S>
FATHOM_VECTOR_CLONES void score_places(const Sample<S>& sample, const Extents& extents, T* scores) {
  for (int64_t t = 0; t < extents.places; ++t) {
    const S* key = sample.keys + t * extents.query;
    const S* query = sample.query;
    const S* score = sample.score;
    scores[t] = sample.mask == nullptr ? T{0} : static_cast<T>(sample.mask[t]);
    if (scores[t] == -std::numeric_limits<T>::infinity()) continue;
    scores[t] += vector_sum<T>(extents.query, [=](int64_t a) {
      return static_cast<T>(score[a]) *
             hyperbolic_tangent(static_cast<T>(key[a]) + static_cast<T>(query[a]));
    });
  }
}

/// Replaces scores by their softmax.
template <typename T>
void softmax(T* scores, int64_t count) {
  const T largest = *std::max_element(scores, scores + count);
  T total = 0;
  for (int64_t t = 0; t < count; ++t) {
    scores[t] = std::exp(scores[t] - largest);
    total += scores[t];
  }
  for (int64_t t = 0; t < count; ++t) scores[t] /= total;
}

/// Writes the sum of the places of the memory by `shares`. `sums` has space for H numbers.
template <typename T, typename S>
FATHOM_VECTOR_CLONES void weigh_places(const Sample<S>& sample, const Extents& extents,
                                       const T* shares, T* sums, S* context) {
  std::fill(sums, sums + extents.width, T{0});
  for (int64_t t = 0; t < extents.places; ++t) {
    const T share = shares[t];
    if (share == 0) continue;
    const S* place = sample.memory + t * extents.width;
    FATHOM_INDEPENDENT
    for (int64_t h = 0; h < extents.width; ++h) sums[h] += share * static_cast<T>(place[h]);
  }
  FATHOM_INDEPENDENT
  for (int64_t h = 0; h < extents.width; ++h) context[h] = static_cast<S>(sums[h]);
}

/// The gradients of one sample. Those of query and score are sums over its places.
template <typename T, typename S>
struct SampleGradients {
  S* memory;
  S* keys;
  T* query;
  T* score;
};

/// `dshares` has space for T numbers.
template <typename T, typename S>
FATHOM_VECTOR_CLONES void run_backward(const Sample<S>& sample, const Extents& extents,
                                       const T* shares, const S* g, T* dshares,
                                       const SampleGradients<T, S>& to) {
  const auto [places, width, columns] = extents;
  T mean = 0;  // of dshares, weighed by the shares
  for (int64_t t = 0; t < places; ++t) {
    const T share = shares[t];
    const S* place = sample.memory + t * width;
    S* dplace = to.memory + t * width;
    dshares[t] = share == 0 ? T{0} : vector_sum<T>(width, [=](int64_t h) {
      return static_cast<T>(g[h]) * static_cast<T>(place[h]);
    });
    mean += share * dshares[t];
    FATHOM_INDEPENDENT
    for (int64_t h = 0; h < width; ++h) dplace[h] = static_cast<S>(share * static_cast<T>(g[h]));
  }
  std::fill(to.query, to.query + columns, T{0});
  std::fill(to.score, to.score + columns, T{0});
  const S* query = sample.query;
  const S* score = sample.score;
  T* dquery = to.query;
  T* dscore = to.score;
  for (int64_t t = 0; t < places; ++t) {
    const S* key = sample.keys + t * columns;
    S* dkey = to.keys + t * columns;
    if (shares[t] == 0) {
      std::fill(dkey, dkey + columns, S{0});
      continue;
    }
    const T of_score = shares[t] * (dshares[t] - mean);
    FATHOM_INDEPENDENT
    for (int64_t a = 0; a < columns; ++a) {
      const T squashed = hyperbolic_tangent(static_cast<T>(key[a]) + static_cast<T>(query[a]));
      const T inner = of_score * static_cast<T>(score[a]) * (1 - squashed * squashed);
      dkey[a] = static_cast<S>(inner);
      dquery[a] += inner;
      dscore[a] += of_score * squashed;
    }
  }
}

}  // namespace

AttentionResult additive_attention_cpu(const AttentionInputs& in) {
  const Extents extents = extents_of(in);
  const int64_t n = in.memory.size(0);
  AttentionResult result{
      .context = at::empty({n, extents.width}, in.memory.options()),
      .shares = at::empty({n, extents.places},
                          in.memory.options().dtype(at::toOpMathType(in.memory.scalar_type())))};
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, in.memory.scalar_type(), "additive_attention", [&] {
        using T = at::opmath_type<scalar_t>;
        auto* shares = result.shares.mutable_data_ptr<T>();
        auto* context = result.context.mutable_data_ptr<scalar_t>();
        at::parallel_for(0, n, grain(extents), [&](int64_t begin, int64_t end) {
          std::vector<T> sums(static_cast<std::size_t>(extents.width));
          for (int64_t i = begin; i < end; ++i) {
            const Sample<scalar_t> sample(in, extents, i);
            T* of_sample = shares + i * extents.places;
            score_places<T>(sample, extents, of_sample);
            softmax(of_sample, extents.places);
            weigh_places<T>(sample, extents, of_sample, sums.data(), context + i * extents.width);
          }
        });
      });
  return result;
}

AttentionGradients additive_attention_backward_cpu(const at::Tensor& g, const AttentionInputs& in,
                                                   const at::Tensor& shares) {
  const Extents extents = extents_of(in);
  const int64_t n = in.memory.size(0);
  AttentionGradients found{.memory = at::empty_like(in.memory),
                           .keys = at::empty_like(in.keys),
                           .query = at::empty({n, extents.query}, shares.options()),
                           .score = {}};
  const at::Tensor scores = at::empty({n, extents.query}, shares.options());  // of each sample
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, in.memory.scalar_type(), "additive_attention", [&] {
        using T = at::opmath_type<scalar_t>;
        const SampleGradients<T, scalar_t> first{
            .memory = found.memory.mutable_data_ptr<scalar_t>(),
            .keys = found.keys.mutable_data_ptr<scalar_t>(),
            .query = found.query.mutable_data_ptr<T>(),
            .score = scores.mutable_data_ptr<T>()};
        const auto* from = g.const_data_ptr<scalar_t>();
        const auto* of_places = shares.const_data_ptr<T>();
        at::parallel_for(0, n, grain(extents), [&](int64_t begin, int64_t end) {
          std::vector<T> dshares(static_cast<std::size_t>(extents.places));
          for (int64_t i = begin; i < end; ++i) {
            run_backward<T>(Sample<scalar_t>(in, extents, i), extents,
                            of_places + i * extents.places, from + i * extents.width,
                            dshares.data(),
                            {.memory = first.memory + i * extents.places * extents.width,
                             .keys = first.keys + i * extents.places * extents.query,
                             .query = first.query + i * extents.query,
                             .score = first.score + i * extents.query});
          }
        });
      });
  const at::ScalarType type = in.memory.scalar_type();
  found.query = found.query.to(type);
  found.score = scores.sum(0, /*keepdim=*/true).to(type);
  return found;
}

}  // namespace fathom::ops
