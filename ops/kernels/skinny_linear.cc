#include "ops/kernels/skinny_linear.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

#include <algorithm>

#include "ops/core/buffer.h"
#include "ops/kernels/lanes.h"
#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

constexpr int64_t kGrain = 1 << 15;  // minimum elements of the weight per thread
constexpr int64_t kRows = 4;      // with two sums each, so that no multiply-add waits for another
constexpr int64_t kAhead = 1024;  // bytes of the weight between the loads and the prefetches

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
};

/// One output of `count` rows from `row`.
template <int64_t count, typename T, typename S>
[[gnu::always_inline]] inline void run_rows(const Layer<S>& layer, int64_t row, int64_t output) {
  constexpr int64_t kStep = 2 * kLanes<T>;
  const S* x = layer.x + row * layer.inputs;
  const S* weight = layer.weight + output * layer.inputs;
  Lanes<T> sums[2][count] = {};
  const int64_t whole = layer.inputs / kStep * kStep;
  for (int64_t k = 0; k < whole; k += kStep) {
    __builtin_prefetch(weight + k + kAhead / static_cast<int64_t>(sizeof(S)));
    FATHOM_UNROLLED
    for (int64_t part = 0; part < 2; ++part) {
      const int64_t place = k + part * kLanes<T>;
      Lanes<T> weights;
      load<T>(weight + place, weights);
      FATHOM_UNROLLED
      for (int64_t i = 0; i < count; ++i) {
        Lanes<T> values;
        load<T>(x + i * layer.inputs + place, values);
        sums[part][i] += weights * values;
      }
    }
  }
  FATHOM_UNROLLED
  for (int64_t i = 0; i < count; ++i) {
    T total = sum<T>(sums[0][i] + sums[1][i]);
    for (int64_t k = whole; k < layer.inputs; ++k) {
      total += static_cast<T>(x[i * layer.inputs + k]) * static_cast<T>(weight[k]);
    }
    if (layer.bias != nullptr) total += static_cast<T>(layer.bias[output]);
    layer.y[(row + i) * layer.outputs + output] = static_cast<S>(total);
  }
}

template <typename T, typename S>
FATHOM_VECTOR_CLONES void run_outputs(const Layer<S>& layer, int64_t begin, int64_t end) {
  for (int64_t output = begin; output < end; ++output) {
    int64_t row = 0;
    for (; row + kRows <= layer.rows; row += kRows) run_rows<kRows, T>(layer, row, output);
    for (; row < layer.rows; ++row) run_rows<1, T>(layer, row, output);
  }
}

}  // namespace

at::Tensor skinny_linear(const at::Tensor& x, const at::Tensor& weight,
                         const std::optional<at::Tensor>& bias) {
  const bool fits = x.is_cpu() && x.dim() == 2 && x.size(0) <= kMaxSkinnyRows &&
                    element(x.scalar_type()) && weight.scalar_type() == x.scalar_type() &&
                    weight.dim() == 2 && weight.size(1) == x.size(1);
  if (!fits) return at::linear(x, weight, bias);
  at::Tensor y = at::empty({x.size(0), weight.size(0)}, x.options());
  const at::Tensor from = x.contiguous();
  const at::Tensor weights = weight.contiguous();
  const at::Tensor added = bias ? bias->contiguous() : at::Tensor();
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "skinny_linear", [&] {
    const Layer<scalar_t> layer{.x = from.const_data_ptr<scalar_t>(),
                                .weight = weights.const_data_ptr<scalar_t>(),
                                .bias = bias ? added.const_data_ptr<scalar_t>() : nullptr,
                                .y = y.mutable_data_ptr<scalar_t>(),
                                .rows = x.size(0),
                                .inputs = x.size(1),
                                .outputs = weight.size(0)};
    const int64_t grain = std::max<int64_t>(kGrain / std::max<int64_t>(layer.inputs, 1), 1);
    at::parallel_for(0, layer.outputs, grain, [&](int64_t begin, int64_t end) {
      run_outputs<at::opmath_type<scalar_t>>(layer, begin, end);
    });
  });
  return y;
}

}  // namespace fathom::ops
