#include "ops/kernels/memory_network.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <vector>

#include "ops/core/autograd/autocast.h"
#include "ops/core/autograd/custom_function.h"
#include "ops/kernels/fused_composites.h"
#include "ops/kernels/lstm_gates_rule.h"  // exponential()
#include "ops/kernels/vector_clones.h"
#include "ops/kernels/vector_sum.h"

namespace fathom::ops {
namespace {

constexpr int64_t kGrain = 1 << 15;  // minimum products per thread

bool fuses(const at::Tensor& tensor) {
  return fused_composites() && tensor.is_cpu() && tensor.scalar_type() == at::kFloat &&
         !autocast_type(at::kCPU);
}

/// Minimum sentences or samples per thread, of so many products each.
int64_t grain(int64_t products) {
  return std::max<int64_t>(kGrain / std::max<int64_t>(products, 1), 1);
}

/// Sentences of `length` words each.
struct Sentences {
  const int64_t* words;
  const float* weights;  ///< [length, width]
  int64_t count;
  int64_t length;
  int64_t width;

  Sentences(const at::Tensor& all, const at::Tensor& of_places)
      : words(all.const_data_ptr<int64_t>()),
        weights(of_places.const_data_ptr<float>()),
        count(all.numel() / std::max<int64_t>(all.size(-1), 1)),
        length(all.size(-1)),
        width(of_places.size(1)) {}
};

FATHOM_VECTOR_CLONES void encode(const Sentences& in, const float* table, int64_t begin,
                                 int64_t end, float* y) {
  for (int64_t p = begin; p < end; ++p) {
    float* const sum = y + p * in.width;
    std::fill(sum, sum + in.width, 0.0F);
    for (int64_t j = 0; j < in.length; ++j) {
      const float* row = table + in.words[p * in.length + j] * in.width;
      const float* weights = in.weights + j * in.width;
      FATHOM_INDEPENDENT
      for (int64_t d = 0; d < in.width; ++d) sum[d] += row[d] * weights[d];
    }
  }
}

/// Adds to the gradient of the table; `g` is that of the sentences.
FATHOM_VECTOR_CLONES void encode_backward(const Sentences& in, const float* g, float* table) {
  for (int64_t p = 0; p < in.count; ++p) {
    const float* from = g + p * in.width;
    for (int64_t j = 0; j < in.length; ++j) {
      float* const row = table + in.words[p * in.length + j] * in.width;
      const float* weights = in.weights + j * in.width;
      FATHOM_INDEPENDENT
      for (int64_t d = 0; d < in.width; ++d) row[d] += from[d] * weights[d];
    }
  }
}

/// A memory of `places` vectors for each query.
struct Reading {
  const float* queries;
  const float* memories;
  int64_t count;
  int64_t places;
  int64_t width;

  Reading(const at::Tensor& query, const at::Tensor& memory)
      : queries(query.const_data_ptr<float>()),
        memories(memory.const_data_ptr<float>()),
        count(memory.size(0)),
        places(memory.size(1)),
        width(memory.size(2)) {}
};

/// Writes the results and the shares [N, M].
FATHOM_VECTOR_CLONES void read(const Reading& in, int64_t begin, int64_t end, float* results,
                               float* all_shares) {
  for (int64_t n = begin; n < end; ++n) {
    const float* const query = in.queries + n * in.width;
    const float* const memory = in.memories + n * in.places * in.width;
    float* const shares = all_shares + n * in.places;
    for (int64_t m = 0; m < in.places; ++m) {
      const float* place = memory + m * in.width;
      shares[m] = vector_sum<float>(in.width, [=](int64_t d) { return query[d] * place[d]; });
    }
    const float largest = *std::max_element(shares, shares + in.places);
    FATHOM_INDEPENDENT
    for (int64_t m = 0; m < in.places; ++m) shares[m] = exponential(shares[m] - largest);
    const float total = vector_sum<float>(in.places, [=](int64_t m) { return shares[m]; });
    float* const sum = results + n * in.width;
    std::fill(sum, sum + in.width, 0.0F);
    for (int64_t m = 0; m < in.places; ++m) {
      const float share = shares[m] /= total;
      const float* place = memory + m * in.width;
      FATHOM_INDEPENDENT
      for (int64_t d = 0; d < in.width; ++d) sum[d] += share * place[d];
    }
  }
}

/// Writes the gradients of queries and memories; `g` is that of the results.
FATHOM_VECTOR_CLONES void read_backward(const Reading& in, const float* all_shares, const float* g,
                                        int64_t begin, int64_t end, float* queries,
                                        float* memories) {
  std::vector<float> products(static_cast<std::size_t>(in.places));
  for (int64_t n = begin; n < end; ++n) {
    const float* const query = in.queries + n * in.width;
    const float* const shares = all_shares + n * in.places;
    const float* const from = g + n * in.width;
    float mean = 0;
    for (int64_t m = 0; m < in.places; ++m) {
      const float* place = in.memories + (n * in.places + m) * in.width;
      const auto product =
          vector_sum<float>(in.width, [=](int64_t d) { return from[d] * place[d]; });
      products[static_cast<std::size_t>(m)] = product;
      mean += shares[m] * product;
    }
    float* const to_query = queries + n * in.width;
    std::fill(to_query, to_query + in.width, 0.0F);
    for (int64_t m = 0; m < in.places; ++m) {
      const float share = shares[m];
      const float score = share * (products[static_cast<std::size_t>(m)] - mean);
      const float* place = in.memories + (n * in.places + m) * in.width;
      float* const to_place = memories + (n * in.places + m) * in.width;
      FATHOM_INDEPENDENT
      for (int64_t d = 0; d < in.width; ++d) {
        to_query[d] += score * place[d];
        to_place[d] = share * from[d] + score * query[d];
      }
    }
  }
}

at::Tensor encoded(const at::Tensor& table, const at::Tensor& words, const at::Tensor& weights) {
  const Sentences in(words, weights);
  TORCH_CHECK_INDEX(std::all_of(in.words, in.words + words.numel(),
                                [&](int64_t word) { return 0 <= word && word < table.size(0); }),
                    "a word is not in the table of ", table.size(0), " rows");
  std::vector<int64_t> sizes = words.sizes().vec();
  sizes.back() = in.width;
  at::Tensor y = at::empty(sizes, table.options());
  at::parallel_for(0, in.count, grain(in.length * in.width), [&](int64_t begin, int64_t end) {
    encode(in, table.const_data_ptr<float>(), begin, end, y.mutable_data_ptr<float>());
  });
  return y;
}

CustomFunction::List encoded_words_backward(const CustomFunction::Request& request) {
  const at::Tensor g = request.gradients[0].contiguous();
  at::Tensor gradient = at::zeros_like(request.saved[0]);
  encode_backward(Sentences(request.saved[1], request.saved[2]), g.const_data_ptr<float>(),
                  gradient.mutable_data_ptr<float>());
  return {gradient};
}

CustomFunction::Result memory_read_forward(const at::Tensor& query, const at::Tensor& memory) {
  const Reading in(query, memory);
  at::Tensor y = at::empty_like(query);
  at::Tensor shares = at::empty({in.count, in.places}, query.options());
  at::parallel_for(0, in.count, grain(in.places * in.width), [&](int64_t begin, int64_t end) {
    read(in, begin, end, y.mutable_data_ptr<float>(), shares.mutable_data_ptr<float>());
  });
  return {{y}, {query, memory, shares}};
}

CustomFunction::List memory_read_backward(const CustomFunction::Request& request) {
  const Reading in(request.saved[0], request.saved[1]);
  const at::Tensor& shares = request.saved[2];
  const at::Tensor g = request.gradients[0].contiguous();
  at::Tensor query = at::empty_like(request.saved[0]);
  at::Tensor memory = at::empty_like(request.saved[1]);
  at::parallel_for(0, in.count, grain(in.places * in.width), [&](int64_t begin, int64_t end) {
    read_backward(in, shares.const_data_ptr<float>(), g.const_data_ptr<float>(), begin, end,
                  query.mutable_data_ptr<float>(), memory.mutable_data_ptr<float>());
  });
  return {query, memory};
}

}  // namespace

at::Tensor encoded_words(const at::Tensor& table, const at::Tensor& words,
                         const at::Tensor& weights) {
  if (!fuses(table)) return (at::embedding(table, words) * weights).sum(-2);
  const CustomFunction::List in{table.contiguous(), words.contiguous(), weights.contiguous()};
  return apply({.forward = [&]() -> CustomFunction::Result {
                  return {{encoded(in[0], in[1], in[2])}, in};
                },
                .backward = encoded_words_backward},
               {in[0]})[0];
}

at::Tensor memory_read(const at::Tensor& query, const at::Tensor& memory, const at::Tensor& keys) {
  if (!fuses(query)) {
    const at::Tensor shares = at::softmax(at::bmm(query.unsqueeze(1), keys), -1);  // [N, 1, M]
    return at::bmm(shares, memory).squeeze(1);
  }
  const CustomFunction::List in{query.contiguous(), memory.contiguous()};
  return apply({.forward = [&] { return memory_read_forward(in[0], in[1]); },
                .backward = memory_read_backward},
               in)[0];
}

}  // namespace fathom::ops
