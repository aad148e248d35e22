#include "ops/kernels/add_norm_cpu.h"

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

/// The operands of a row. Null: not given.
template <typename T, typename S>
struct Row {
  const S* x;
  const S* update;
  const T* weight;
  const T* bias;
  S* sum;  ///< null without an update
  S* normalised;
  T* statistics;
};

template <Norm norm, typename T, typename S>
FATHOM_VECTOR_CLONES void forward_row(const Row<T, S>& row, T epsilon, int64_t width) {
  const S* x = row.x;
  if (row.update != nullptr) {
    const S* update = row.update;
    S* sum = row.sum;
    FATHOM_INDEPENDENT
    for (int64_t j = 0; j < width; ++j) {
      sum[j] = static_cast<S>(static_cast<T>(x[j]) + static_cast<T>(update[j]));
    }
    x = sum;
  }
  const T count = static_cast<T>(width);
  T mean = 0;
  if constexpr (norm == Norm::kLayer)
    mean = vector_sum<T>(width, [=](int64_t j) { return static_cast<T>(x[j]); }) / count;
  const T squares = vector_sum<T>(width, [=](int64_t j) {
    const T centred = static_cast<T>(x[j]) - mean;
    return centred * centred;
  });
  const T scale = 1 / std::sqrt(squares / count + epsilon);
  const T* weight = row.weight;
  const T* bias = row.bias;
  S* normalised = row.normalised;
  FATHOM_INDEPENDENT
  for (int64_t j = 0; j < width; ++j) {
    const T y = (static_cast<T>(x[j]) - mean) * scale * weight[j];
    normalised[j] = static_cast<S>(norm == Norm::kLayer ? y + bias[j] : y);
  }
  row.statistics[0] = mean;
  row.statistics[1] = scale;
}

/// The operands of a row's gradient. `of_sum` may be null.
template <typename T, typename S>
struct RowGradient {
  const S* of_sum;
  const S* g;
  const S* sum;
  const T* statistics;
  const T* weight;
  S* dx;
  T* dweight;
  T* dbias;
};

/// With n the normalised row before weight and bias, and h = g · weight:
/// dx = (h - mean(h) - n · mean(h · n)) · scale + of_sum, in kRms without mean(h). Adds to dweight
/// and dbias.
template <Norm norm, typename T, typename S>
FATHOM_VECTOR_CLONES void backward_row(const RowGradient<T, S>& row, int64_t width) {
  const auto [of_sum, g, sum, statistics, weight, dx, dweight, dbias] = row;
  const T mean = statistics[0];
  const T scale = statistics[1];
  const auto normal = [=](int64_t j) { return (static_cast<T>(sum[j]) - mean) * scale; };
  const auto inner = [=](int64_t j) { return static_cast<T>(g[j]) * weight[j]; };
  const T count = static_cast<T>(width);
  T direct = 0;
  if constexpr (norm == Norm::kLayer) {
    direct = vector_sum<T>(width, inner) / count;
    FATHOM_INDEPENDENT
    for (int64_t j = 0; j < width; ++j) dbias[j] += static_cast<T>(g[j]);
  }
  const T along = vector_sum<T>(width, [=](int64_t j) { return inner(j) * normal(j); }) / count;
  FATHOM_INDEPENDENT
  for (int64_t j = 0; j < width; ++j) dweight[j] += static_cast<T>(g[j]) * normal(j);
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

/// The elements of a tensor, or null where it is undefined.
template <typename T>
const T* elements_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<T>() : nullptr;
}

/// Null stays null.
template <typename T>
T* advanced(T* pointer, int64_t by) {
  return pointer == nullptr ? pointer : pointer + by;
}

}  // namespace

AddNormResult add_norm_cpu(Norm norm, const at::Tensor& x, const at::Tensor& update,
                           const at::Tensor& weight, const at::Tensor& bias, double epsilon) {
  const int64_t width = weight.numel();
  const int64_t rows = x.numel() / width;
  AddNormResult result{.sum = update.defined() ? at::empty_like(x) : x,
                       .normalised = at::empty_like(x),
                       .statistics = at::empty({rows, 2}, weight.options())};
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "add_norm", [&] {
    using T = at::opmath_type<scalar_t>;
    const Row<T, scalar_t> first{
        .x = x.const_data_ptr<scalar_t>(),
        .update = elements_of<scalar_t>(update),
        .weight = weight.const_data_ptr<T>(),
        .bias = elements_of<T>(bias),
        .sum = update.defined() ? result.sum.mutable_data_ptr<scalar_t>() : nullptr,
        .normalised = result.normalised.mutable_data_ptr<scalar_t>(),
        .statistics = result.statistics.mutable_data_ptr<T>()};
    const auto run = norm == Norm::kLayer ? forward_row<Norm::kLayer, T, scalar_t>
                                          : forward_row<Norm::kRms, T, scalar_t>;
    at::parallel_for(0, rows, std::max<int64_t>(kGrain / width, 1),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const int64_t at = i * width;
                         Row<T, scalar_t> row = first;
                         row.x += at;
                         row.update = advanced(row.update, at);
                         row.sum = advanced(row.sum, at);
                         row.normalised += at;
                         row.statistics += 2 * i;
                         run(row, static_cast<T>(epsilon), width);
                       }
                     });
  });
  return result;
}

AddNormGradients add_norm_backward_cpu(Norm norm, const at::Tensor& of_sum,
                                       const at::Tensor& of_normalised, const at::Tensor& sum,
                                       const at::Tensor& statistics, const at::Tensor& weight) {
  const int64_t width = weight.numel();
  const int64_t rows = sum.numel() / width;
  const int64_t parts =
      std::clamp<int64_t>(sum.numel() / kGrain, 1, static_cast<int64_t>(at::get_num_threads()));
  AddNormGradients found{.x = at::empty_like(sum), .weight = {}, .bias = {}};
  const at::Tensor partial = at::zeros({2, parts, width}, weight.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, sum.scalar_type(), "add_norm", [&] {
    using T = at::opmath_type<scalar_t>;
    const RowGradient<T, scalar_t> first{.of_sum = elements_of<scalar_t>(of_sum),
                                         .g = of_normalised.const_data_ptr<scalar_t>(),
                                         .sum = sum.const_data_ptr<scalar_t>(),
                                         .statistics = statistics.const_data_ptr<T>(),
                                         .weight = weight.const_data_ptr<T>(),
                                         .dx = found.x.mutable_data_ptr<scalar_t>(),
                                         .dweight = partial[0].mutable_data_ptr<T>(),
                                         .dbias = partial[1].mutable_data_ptr<T>()};
    const auto run = norm == Norm::kLayer ? backward_row<Norm::kLayer, T, scalar_t>
                                          : backward_row<Norm::kRms, T, scalar_t>;
    at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        for (int64_t i = rows * part / parts; i < rows * (part + 1) / parts; ++i) {
          const int64_t at = i * width;
          RowGradient<T, scalar_t> row = first;
          row.of_sum = advanced(row.of_sum, at);
          row.g += at;
          row.sum += at;
          row.statistics += 2 * i;
          row.dx += at;
          row.dweight += part * width;
          row.dbias += part * width;
          run(row, width);
        }
      }
    });
  });
  found.weight = partial[0].sum(0);
  if (norm == Norm::kLayer) found.bias = partial[1].sum(0);
  return found;
}

}  // namespace fathom::ops
