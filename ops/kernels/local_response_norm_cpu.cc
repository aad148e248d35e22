#include "ops/kernels/local_response_norm_cpu.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

// Adjacent pixels in a tile. A constant, so that loops over it become a few vector instructions.
// Wide enough for the hardware prefetchers, and narrow enough for all channels of a tile to fit
// into the L2 cache.
constexpr int64_t kColumns = 128;

/// The channels of a tile, their distance in memory (`plane`) and the columns inside the image.
struct Tile {
  int64_t channels;
  int64_t plane;
  int64_t columns;
};

/// One row of kColumns per channel. `squares` and `summands` have half a window of zero rows before
/// and after, so that the window of channel c is their rows c to c + size - 1.
template <typename Sum>
struct Scratch {
  Scratch(int64_t channels, int64_t size)
      : value(rows(channels)),
        direct(rows(channels)),
        squares(rows(channels + size - 1)),
        summands(rows(channels + size - 1)) {}

  static std::size_t rows(int64_t count) { return static_cast<std::size_t>(count * kColumns); }

  std::vector<Sum> value;
  std::vector<Sum> direct;
  std::vector<Sum> squares;
  std::vector<Sum> summands;
};

/// Loads one channel of the tile and fills the rest of the row with zeros.
template <typename T, typename Sum>
[[gnu::always_inline]] inline void load(const T* from, int64_t columns, Sum* row) {
  if (columns == kColumns) {
    for (int64_t j = 0; j < kColumns; ++j) row[j] = static_cast<Sum>(from[j]);
  } else {
    for (int64_t j = 0; j < kColumns; ++j) row[j] = j < columns ? static_cast<Sum>(from[j]) : 0;
  }
}

template <typename T, typename Sum>
[[gnu::always_inline]] inline void store(const Sum* row, int64_t columns, T* to) {
  if (columns == kColumns) {
    for (int64_t j = 0; j < kColumns; ++j) to[j] = static_cast<T>(row[j]);
  } else {
    for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<T>(row[j]);
  }
}

template <int64_t kSize, typename Sum>
[[gnu::always_inline]] inline void sum_fixed(const Sum* window, Sum* sum) {
  for (int64_t j = 0; j < kColumns; ++j) {
    Sum total = window[j];
    for (int64_t i = 1; i < kSize; ++i) total += window[i * kColumns + j];
    sum[j] = total;
  }
}

/// The sum of `size` rows. For the papers' sizes, 5 and 9, the sums stay in registers.
template <typename Sum>
[[gnu::always_inline]] inline void sum_window(const Sum* window, int64_t size, Sum* sum) {
  if (size == 5) return sum_fixed<5>(window, sum);
  if (size == 9) return sum_fixed<9>(window, sum);
  sum_fixed<1>(window, sum);
  for (int64_t i = 1; i < size; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) sum[j] += window[i * kColumns + j];
  }
}

/// scale = bias + share · Σ x² over the window, and factor = scale^-beta.
template <typename Sum>
[[gnu::always_inline]] inline void factors(const Sum* squares, const NormConstants<Sum>& norm,
                                           Sum* scale, Sum* factor) {
  sum_window(squares, norm.size, scale);
  for (int64_t j = 0; j < kColumns; ++j) scale[j] = norm.bias + norm.share * scale[j];
  if (norm.three_quarters) {
    for (int64_t j = 0; j < kColumns; ++j) {
      const Sum root = std::sqrt(scale[j]);
      factor[j] = 1 / (root * std::sqrt(root));
    }
  } else {
    for (int64_t j = 0; j < kColumns; ++j) factor[j] = std::pow(scale[j], -norm.beta);
  }
}

/// Fills value and squares.
template <typename T, typename Sum>
[[gnu::always_inline]] inline void load_tile(const T* x, const Tile& tile, int64_t size,
                                             Scratch<Sum>& scratch) {
  Sum* squares = scratch.squares.data() + size / 2 * kColumns;
  for (int64_t c = 0; c < tile.channels; ++c) {
    Sum* value = scratch.value.data() + c * kColumns;
    load(x + c * tile.plane, tile.columns, value);
    for (int64_t j = 0; j < kColumns; ++j) squares[c * kColumns + j] = value[j] * value[j];
  }
}

template <typename T, typename Sum>
FATHOM_VECTOR_CLONES void forward_tile(const T* x, const Tile& tile, const NormConstants<Sum>& norm,
                                       Scratch<Sum>& scratch, T* y) {
  load_tile(x, tile, norm.size, scratch);
  Sum scale[kColumns];
  Sum factor[kColumns];
  for (int64_t c = 0; c < tile.channels; ++c) {
    factors(scratch.squares.data() + c * kColumns, norm, scale, factor);
    const Sum* value = scratch.value.data() + c * kColumns;
    for (int64_t j = 0; j < kColumns; ++j) factor[j] *= value[j];
    store(factor, tile.columns, y + c * tile.plane);
  }
}

/// dx_i = g_i · factor_i - 2 share beta x_i Σ (g y / scale) over i's window: `direct` keeps the
/// first term.
template <typename T, typename Sum>
FATHOM_VECTOR_CLONES void backward_tile(const T* x, const T* g, const Tile& tile,
                                        const NormConstants<Sum>& norm, Scratch<Sum>& scratch,
                                        T* dx) {
  load_tile(x, tile, norm.size, scratch);
  Sum scale[kColumns];
  Sum sum[kColumns];
  Sum* summands = scratch.summands.data() + norm.size / 2 * kColumns;
  for (int64_t c = 0; c < tile.channels; ++c) {
    Sum* direct = scratch.direct.data() + c * kColumns;
    factors(scratch.squares.data() + c * kColumns, norm, scale, direct);
    load(g + c * tile.plane, tile.columns, sum);
    const Sum* value = scratch.value.data() + c * kColumns;
    for (int64_t j = 0; j < kColumns; ++j) {
      direct[j] *= sum[j];
      summands[c * kColumns + j] = direct[j] * value[j] / scale[j];
    }
  }
  const Sum twice = 2 * norm.share * norm.beta;
  for (int64_t c = 0; c < tile.channels; ++c) {
    sum_window(scratch.summands.data() + c * kColumns, norm.size, sum);
    const Sum* value = scratch.value.data() + c * kColumns;
    const Sum* direct = scratch.direct.data() + c * kColumns;
    for (int64_t j = 0; j < kColumns; ++j) sum[j] = direct[j] - twice * value[j] * sum[j];
    store(sum, tile.columns, dx + c * tile.plane);
  }
}

/// Calls visit(offset of the tile's first element, tile, scratch) for every tile, in parallel.
template <typename Sum, typename Visit>
void each_tile(const at::Tensor& x, int64_t size, Visit visit) {
  const int64_t channels = x.size(1);
  const int64_t plane = x.size(2) * x.size(3);
  const int64_t tiles = (plane + kColumns - 1) / kColumns;
  at::parallel_for(0, x.size(0) * tiles, 1, [&](int64_t begin, int64_t end) {
    Scratch<Sum> scratch(channels, size);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t column = t % tiles * kColumns;
      visit(t / tiles * channels * plane + column,
            Tile{channels, plane, std::min(kColumns, plane - column)}, scratch);
    }
  });
}

}  // namespace

at::Tensor local_response_norm_cpu(const at::Tensor& x, const LocalResponseNormOptions& norm) {
  at::Tensor y = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "local_response_norm", [&] {
    const NormConstants<at::opmath_type<scalar_t>> constants(norm);
    const auto* from = x.const_data_ptr<scalar_t>();
    auto* to = y.mutable_data_ptr<scalar_t>();
    each_tile<at::opmath_type<scalar_t>>(
        x, norm.size, [&](int64_t offset, const Tile& tile, auto& scratch) {
          forward_tile(from + offset, tile, constants, scratch, to + offset);
        });
  });
  return y;
}

at::Tensor local_response_norm_backward_cpu(const at::Tensor& x, const at::Tensor& g,
                                            const LocalResponseNormOptions& norm) {
  at::Tensor dx = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "local_response_norm", [&] {
    using Sum = at::opmath_type<scalar_t>;
    const NormConstants<Sum> constants(norm);
    const auto* value = x.const_data_ptr<scalar_t>();
    const auto* gradient = g.const_data_ptr<scalar_t>();
    auto* to = dx.mutable_data_ptr<scalar_t>();
    each_tile<Sum>(x, norm.size, [&](int64_t offset, const Tile& tile, auto& scratch) {
      backward_tile(value + offset, gradient + offset, tile, constants, scratch, to + offset);
    });
  });
  return dx;
}

}  // namespace fathom::ops
