#include "ops/kernels/add_layer_norm_cpu.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "ops/kernels/vector_clones.h"
#include "ops/kernels/vector_sum.h"

namespace fathom::ops {
namespace {

constexpr int64_t kGrain = 1 << 14;  // minimum elements per thread

template <typename T, typename S>
FATHOM_VECTOR_CLONES void forward_row(const S* x, const S* update, const T* weight, const T* bias,
                                      T epsilon, int64_t width, S* sum, S* normalised,
                                      T* statistics) {
  FATHOM_INDEPENDENT
  for (int64_t j = 0; j < width; ++j) {
    sum[j] = static_cast<S>(static_cast<T>(x[j]) + static_cast<T>(update[j]));
  }
  const T count = static_cast<T>(width);
  const T mean = vector_sum<T>(width, [=](int64_t j) { return static_cast<T>(sum[j]); }) / count;
  const T squares = vector_sum<T>(width, [=](int64_t j) {
    const T centred = static_cast<T>(sum[j]) - mean;
    return centred * centred;
  });
  const T scale = 1 / std::sqrt(squares / count + epsilon);
  FATHOM_INDEPENDENT
  for (int64_t j = 0; j < width; ++j) {
    normalised[j] = static_cast<S>((static_cast<T>(sum[j]) - mean) * scale * weight[j] + bias[j]);
  }
  statistics[0] = mean;
  statistics[1] = scale;
}

/// With n the normalised row before weight and bias, and h = g · weight:
/// dx = (h - mean(h) - n · mean(h · n)) · scale + of_sum. Adds to dweight and dbias.
template <typename T, typename S>
FATHOM_VECTOR_CLONES void backward_row(const S* of_sum, const S* g, const S* sum,
                                       const T* statistics, const T* weight, int64_t width, S* dx,
                                       T* dweight, T* dbias) {
  const T mean = statistics[0];
  const T scale = statistics[1];
  const auto normal = [=](int64_t j) { return (static_cast<T>(sum[j]) - mean) * scale; };
  const auto inner = [=](int64_t j) { return static_cast<T>(g[j]) * weight[j]; };
  const T count = static_cast<T>(width);
  const T direct = vector_sum<T>(width, inner) / count;
  const T along = vector_sum<T>(width, [=](int64_t j) { return inner(j) * normal(j); }) / count;
  FATHOM_INDEPENDENT
  for (int64_t j = 0; j < width; ++j) {
    dweight[j] += static_cast<T>(g[j]) * normal(j);
    dbias[j] += static_cast<T>(g[j]);
  }
  if (of_sum == nullptr) {
    FATHOM_INDEPENDENT
    for (int64_t j = 0; j < width; ++j) {
      dx[j] = static_cast<S>((inner(j) - direct - normal(j) * along) * scale);
    }
  } else {
    FATHOM_INDEPENDENT
    for (int64_t j = 0; j < width; ++j) {
      dx[j] = static_cast<S>((inner(j) - direct - normal(j) * along) * scale +
                             static_cast<T>(of_sum[j]));
    }
  }
}

}  // namespace

AddLayerNormResult add_layer_norm_cpu(const at::Tensor& x, const at::Tensor& update,
                                      const at::Tensor& weight, const at::Tensor& bias,
                                      double epsilon) {
  const int64_t width = weight.numel();
  const int64_t rows = x.numel() / width;
  AddLayerNormResult result{.sum = at::empty_like(x),
                            .normalised = at::empty_like(x),
                            .statistics = at::empty({rows, 2}, weight.options())};
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "add_layer_norm", [&] {
    using T = at::opmath_type<scalar_t>;
    const auto* from = x.const_data_ptr<scalar_t>();
    const auto* added = update.const_data_ptr<scalar_t>();
    const auto* scales = weight.const_data_ptr<T>();
    const auto* shifts = bias.const_data_ptr<T>();
    auto* sum = result.sum.mutable_data_ptr<scalar_t>();
    auto* normalised = result.normalised.mutable_data_ptr<scalar_t>();
    auto* statistics = result.statistics.mutable_data_ptr<T>();
    at::parallel_for(
        0, rows, std::max<int64_t>(kGrain / width, 1), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t at = i * width;
            forward_row<T>(from + at, added + at, scales, shifts, static_cast<T>(epsilon), width,
                           sum + at, normalised + at, statistics + 2 * i);
          }
        });
  });
  return result;
}

AddLayerNormGradients add_layer_norm_backward_cpu(const at::Tensor& of_sum,
                                                  const at::Tensor& of_normalised,
                                                  const at::Tensor& sum,
                                                  const at::Tensor& statistics,
                                                  const at::Tensor& weight) {
  const int64_t width = weight.numel();
  const int64_t rows = sum.numel() / width;
  const int64_t parts =
      std::clamp<int64_t>(sum.numel() / kGrain, 1, static_cast<int64_t>(at::get_num_threads()));
  AddLayerNormGradients found{.x = at::empty_like(sum), .weight = {}, .bias = {}};
  const at::Tensor partial = at::zeros({2, parts, width}, weight.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, sum.scalar_type(), "add_layer_norm", [&] {
        using T = at::opmath_type<scalar_t>;
        const auto* direct = of_sum.defined() ? of_sum.const_data_ptr<scalar_t>() : nullptr;
        const auto* g = of_normalised.const_data_ptr<scalar_t>();
        const auto* values = sum.const_data_ptr<scalar_t>();
        const auto* of_rows = statistics.const_data_ptr<T>();
        const auto* scales = weight.const_data_ptr<T>();
        auto* dx = found.x.mutable_data_ptr<scalar_t>();
        auto* dweights = partial[0].mutable_data_ptr<T>();
        auto* dbiases = partial[1].mutable_data_ptr<T>();
        at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
          for (int64_t part = begin; part < end; ++part) {
            for (int64_t i = rows * part / parts; i < rows * (part + 1) / parts; ++i) {
              const int64_t at = i * width;
              backward_row<T>(direct == nullptr ? direct : direct + at, g + at, values + at,
                              of_rows + 2 * i, scales, width, dx + at, dweights + part * width,
                              dbiases + part * width);
            }
          }
        });
      });
  found.weight = partial[0].sum(0);
  found.bias = partial[1].sum(0);
  return found;
}

}  // namespace fathom::ops
