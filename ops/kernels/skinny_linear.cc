#include "ops/kernels/skinny_linear.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

#include <algorithm>

#include "ops/kernels/lanes.h"
#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

constexpr int64_t kGrain = 1 << 15;       // minimum elements of the weight per thread
constexpr int64_t kL1Bytes = 1 << 15;     // of x that stay in the L1 cache
constexpr int64_t kAheadBytes = 6 << 10;  // between the loads and the prefetches of the weight

/// The tensors of a layer. `bias` may be null.
template <typename S>
struct Layer {
  const S* x;
  const S* weight;
  const S* bias;
  S* y;
  int64_t rows;
  int64_t inputs;
  int64_t outputs;
  int64_t row;  ///< elements from one row of y to the next
};

/// `outputs` outputs of all rows, from `output`, each as `parts` sums, so that no multiply-add
/// waits for another. One output reads the weight in memory's order and prefetches what follows;
/// several prefetch what the next tile reads.
template <int64_t rows, int64_t outputs, int64_t parts, typename S>
[[gnu::always_inline]] inline void run_tile(const Layer<S>& layer, int64_t output) {
  constexpr int64_t kStep = parts * kLanes<float>;
  constexpr int64_t kAhead = kAheadBytes / sizeof(S);
  const S* weight = layer.weight + output * layer.inputs;
  const int64_t ahead = outputs == 1 ? kAhead : outputs * layer.inputs;
  Lanes<float> sums[parts][rows][outputs] = {};
  const int64_t whole = layer.inputs / kStep * kStep;
  for (int64_t k = 0; k < whole; k += kStep) {
    FATHOM_UNROLLED
    for (int64_t j = 0; j < outputs; ++j) {
      __builtin_prefetch(weight + ahead + j * layer.inputs + k);
    }
    FATHOM_UNROLLED
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t place = k + part * kLanes<float>;
      Lanes<float> weights[outputs];
      FATHOM_UNROLLED
      for (int64_t j = 0; j < outputs; ++j)
        load<float>(weight + j * layer.inputs + place, weights[j]);
      FATHOM_UNROLLED
      for (int64_t i = 0; i < rows; ++i) {
        Lanes<float> values;
        load<float>(layer.x + i * layer.inputs + place, values);
        FATHOM_UNROLLED
        for (int64_t j = 0; j < outputs; ++j) sums[part][i][j] += weights[j] * values;
      }
    }
  }
  FATHOM_UNROLLED
  for (int64_t i = 0; i < rows; ++i) {
    FATHOM_UNROLLED
    for (int64_t j = 0; j < outputs; ++j) {
      Lanes<float> lanes = sums[0][i][j];
      FATHOM_UNROLLED
      for (int64_t part = 1; part < parts; ++part) lanes += sums[part][i][j];
      float total = sum<float>(lanes);
      for (int64_t k = whole; k < layer.inputs; ++k) {
        total += static_cast<float>(layer.x[i * layer.inputs + k]) *
                 static_cast<float>(weight[j * layer.inputs + k]);
      }
      if (layer.bias != nullptr) total += static_cast<float>(layer.bias[output + j]);
      layer.y[i * layer.row + output + j] = static_cast<S>(total);
    }
  }
}

/// The outputs from `begin` to `end` of at most `rows` rows. One output at a time reads the weight
/// in memory's order; three share what they read of rows that do not stay in the L1 cache.
template <int64_t rows, typename S>
[[gnu::always_inline]] inline void run_rows(const Layer<S>& layer, int64_t begin, int64_t end) {
  if constexpr (rows > 1) {
    if (layer.rows < rows) return run_rows<rows - 1>(layer, begin, end);
  }
  int64_t output = begin;
  if (rows * layer.inputs * static_cast<int64_t>(sizeof(S)) > kL1Bytes) {
    for (; output + 3 <= end; output += 3) run_tile<rows, 3, 1>(layer, output);
  }
  for (; output < end; ++output) run_tile<rows, 1, 2>(layer, output);
}

template <typename S>
FATHOM_VECTOR_CLONES void run_outputs(const Layer<S>& layer, int64_t begin, int64_t end) {
  run_rows<kMaxSkinnyRows>(layer, begin, end);
}

template <typename S>
Layer<S> layer_of(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                  at::Tensor& y) {
  return {.x = x.const_data_ptr<S>(),
          .weight = weight.const_data_ptr<S>(),
          .bias = bias.defined() ? bias.const_data_ptr<S>() : nullptr,
          .y = y.mutable_data_ptr<S>(),
          .rows = x.size(0),
          .inputs = x.size(1),
          .outputs = weight.size(0),
          .row = y.stride(0)};
}

/// Calls run(value of the type of elements).
template <typename Run>
void with_type(at::ScalarType type, const Run& run) {
  if (type == at::kFloat) return run(float{});
  if (type == at::kHalf) return run(at::Half{});
  run(at::BFloat16{});
}

}  // namespace

bool skinny_fits(const at::Tensor& x, const at::Tensor& weight) {
  const at::ScalarType type = x.scalar_type();
  return x.is_cpu() && x.dim() == 2 && x.numel() > 0 && x.size(0) <= kMaxSkinnyRows &&
         (type == at::kFloat || at::isReducedFloatingType(type)) && weight.scalar_type() == type &&
         weight.dim() == 2 && weight.size(1) == x.size(1);
}

at::Tensor skinny_linear(const at::Tensor& x, const at::Tensor& weight,
                         const std::optional<at::Tensor>& bias) {
  if (!skinny_fits(x, weight)) return at::linear(x, weight, bias);
  const at::Tensor rows = x.contiguous();
  const at::Tensor matrix = weight.contiguous();
  const at::Tensor added = bias ? bias->contiguous() : at::Tensor();
  at::Tensor y = at::empty({x.size(0), weight.size(0)}, x.options());
  const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(x.size(1), 1), 1);
  with_type(x.scalar_type(), [&]<typename S>(S) {
    const Layer<S> layer = layer_of<S>(rows, matrix, added, y);
    at::parallel_for(0, layer.outputs, grain,
                     [&](int64_t begin, int64_t end) { run_outputs(layer, begin, end); });
  });
  return y;
}

void skinny_linear_into(const at::Tensor& x, const at::Tensor& weight, at::Tensor& y) {
  with_type(x.scalar_type(), [&]<typename S>(S) {
    const Layer<S> layer = layer_of<S>(x, weight, {}, y);
    run_outputs(layer, 0, layer.outputs);
  });
}

}  // namespace fathom::ops
