#include "ops/kernels/local_response_norm_cpu.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

// Pixels in a tile, and elements that are computed together. A constant, so that loops over them
// become a few vector instructions. Wide enough for the hardware prefetchers, and narrow enough for
// all channels of a tile to fit into the L2 cache.
constexpr int64_t kColumns = 128;

/// All channels of up to kColumns neighboring pixels.
struct Tile {
  int64_t channels;
  int64_t plane;    ///< pixels of an image
  int64_t columns;  ///< pixels of the tile
};

/// The elements of a tile: rows of kColumns pixels for each channel, or of all channels for each
/// pixel. `squares` and `summands` have zeros for half a window before the first channel and after
/// the last, so that the window of the element at i begins at their i.
template <typename Sum>
struct Scratch {
  Scratch(int64_t channels, int64_t size)
      : Scratch(static_cast<std::size_t>((channels + size - 1) * kColumns)) {}
  explicit Scratch(std::size_t count)
      : value(count), direct(count), squares(count), summands(count) {}

  std::vector<Sum> value;
  std::vector<Sum> direct;
  std::vector<Sum> squares;
  std::vector<Sum> summands;
};

/// Up to kColumns elements side by side, in memory and in the scratch.
struct Part {
  int64_t place;    ///< in memory
  int64_t i;        ///< in the scratch
  int64_t count;    ///< in the scratch
  int64_t columns;  ///< in memory; the others are zero
  /// Whether it is copied before use, because its neighbors in the scratch are far away in memory.
  bool copied;
};

/// Where a tile's elements lie.
template <bool kChannelsLast>
struct Elements {
  /// Distance of neighboring channels in the scratch.
  static constexpr int64_t kNext = kChannelsLast ? 1 : kColumns;

  template <typename Visit>
  [[gnu::always_inline]] void each_part(Visit visit) const {
    if constexpr (kChannelsLast) {
      for (int64_t pixel = 0; pixel < tile.columns; ++pixel) {
        for (int64_t c = 0; c < tile.channels; c += kColumns) {
          const int64_t count = std::min(kColumns, tile.channels - c);
          visit(Part{.place = pixel * tile.channels + c,
                     .i = pixel * (tile.channels + size - 1) + c,
                     .count = count,
                     .columns = count,
                     .copied = false});
        }
      }
    } else {
      for (int64_t c = 0; c < tile.channels; ++c) {
        visit(Part{.place = c * tile.plane,
                   .i = c * kColumns,
                   .count = kColumns,
                   .columns = tile.columns,
                   .copied = true});
      }
    }
  }

  Tile tile;
  int64_t size;  ///< of the window
};

/// The elements of a part: in memory, or in `row` after load() has copied them.
template <typename Sum, typename T>
[[gnu::always_inline]] inline const Sum* loaded(const T* x, const Part& part, const Sum* row) {
  if constexpr (std::is_same_v<T, Sum>) {
    if (!part.copied) return x + part.place;
  }
  return row;
}

template <typename Sum, typename T>
[[gnu::always_inline]] inline const Sum* load(const T* x, const Part& part, Sum* row) {
  if (const Sum* found = loaded(x, part, row); found != row) return found;
  const T* from = x + part.place;
  if (part.columns == part.count) {
    for (int64_t j = 0; j < part.count; ++j) row[j] = static_cast<Sum>(from[j]);
  } else {
    for (int64_t j = 0; j < part.count; ++j)
      row[j] = j < part.columns ? static_cast<Sum>(from[j]) : 0;
  }
  return row;
}

/// Writes value(j) to the elements of a part. Of whole parts, contiguous ones have a constant
/// count.
template <typename T, typename Value>
[[gnu::always_inline]] inline void store(T* y, const Part& part, Value value) {
  T* to = y + part.place;
  if (part.columns == part.count) {
    for (int64_t j = 0; j < part.count; ++j) to[j] = static_cast<T>(value(j));
  } else {
    for (int64_t j = 0; j < part.columns; ++j) to[j] = static_cast<T>(value(j));
  }
}

template <int64_t kSize, typename Sum>
[[gnu::always_inline]] inline void sum_fixed(const Sum* window, int64_t next, int64_t count,
                                             Sum* sum) {
  for (int64_t j = 0; j < count; ++j) {
    Sum total = window[j];
    for (int64_t i = 1; i < kSize; ++i) total += window[i * next + j];
    sum[j] = total;
  }
}

/// The sum over windows of `size` channels. For the papers' sizes, 5 and 9, it stays in registers.
template <typename Sum>
[[gnu::always_inline]] inline void sum_window(const Sum* window, int64_t size, int64_t next,
                                              int64_t count, Sum* sum) {
  if (size == 5) return sum_fixed<5>(window, next, count, sum);
  if (size == 9) return sum_fixed<9>(window, next, count, sum);
  sum_fixed<1>(window, next, count, sum);
  for (int64_t i = 1; i < size; ++i) {
    for (int64_t j = 0; j < count; ++j) sum[j] += window[i * next + j];
  }
}

/// scale = bias + share · Σ x² over the window, and factor = scale^-beta.
template <typename Sum>
[[gnu::always_inline]] inline void factors(const Sum* squares, const NormConstants<Sum>& norm,
                                           int64_t next, int64_t count, Sum* scale, Sum* factor) {
  sum_window(squares, norm.size, next, count, scale);
  for (int64_t j = 0; j < count; ++j) scale[j] = norm.bias + norm.share * scale[j];
  if (norm.three_quarters) {
    for (int64_t j = 0; j < count; ++j) {
      const Sum root = std::sqrt(scale[j]);
      factor[j] = 1 / (root * std::sqrt(root));
    }
  } else {
    for (int64_t j = 0; j < count; ++j) factor[j] = std::pow(scale[j], -norm.beta);
  }
}

/// Fills value and squares.
template <bool kChannelsLast, typename T, typename Sum>
[[gnu::always_inline]] inline void load_tile(const T* x, const Elements<kChannelsLast>& elements,
                                             Scratch<Sum>& scratch) {
  Sum* squares = scratch.squares.data() + elements.size / 2 * elements.kNext;
  elements.each_part([&](const Part& part) __attribute__((always_inline)) {
    const Sum* value = load(x, part, scratch.value.data() + part.i);
    for (int64_t j = 0; j < part.count; ++j) squares[part.i + j] = value[j] * value[j];
  });
}

template <bool kChannelsLast, typename T, typename Sum>
FATHOM_VECTOR_CLONES void forward_tile(const T* x, const Tile& tile, const NormConstants<Sum>& norm,
                                       Scratch<Sum>& scratch, T* y) {
  const Elements<kChannelsLast> elements{tile, norm.size};
  load_tile(x, elements, scratch);
  Sum scale[kColumns];
  Sum factor[kColumns];
  elements.each_part([&](const Part& part) __attribute__((always_inline)) {
    factors(scratch.squares.data() + part.i, norm, elements.kNext, part.count, scale, factor);
    const Sum* value = loaded(x, part, scratch.value.data() + part.i);
    store(y, part, [&](int64_t j) { return factor[j] * value[j]; });
  });
}

/// dx_i = g_i · factor_i - 2 share beta x_i Σ (g y / scale) over i's window: `direct` keeps the
/// first term.
template <bool kChannelsLast, typename T, typename Sum>
FATHOM_VECTOR_CLONES void backward_tile(const T* x, const T* g, const Tile& tile,
                                        const NormConstants<Sum>& norm, Scratch<Sum>& scratch,
                                        T* dx) {
  const Elements<kChannelsLast> elements{tile, norm.size};
  load_tile(x, elements, scratch);
  Sum scale[kColumns];
  Sum sum[kColumns];
  Sum* summands = scratch.summands.data() + norm.size / 2 * elements.kNext;
  elements.each_part([&](const Part& part) __attribute__((always_inline)) {
    Sum* direct = scratch.direct.data() + part.i;
    factors(scratch.squares.data() + part.i, norm, elements.kNext, part.count, scale, direct);
    const Sum* gradient = load(g, part, sum);
    const Sum* value = loaded(x, part, scratch.value.data() + part.i);
    for (int64_t j = 0; j < part.count; ++j) {
      direct[j] *= gradient[j];
      summands[part.i + j] = direct[j] * value[j] / scale[j];
    }
  });
  const Sum twice = 2 * norm.share * norm.beta;
  elements.each_part([&](const Part& part) __attribute__((always_inline)) {
    sum_window(scratch.summands.data() + part.i, norm.size, elements.kNext, part.count, sum);
    const Sum* value = loaded(x, part, scratch.value.data() + part.i);
    const Sum* direct = scratch.direct.data() + part.i;
    store(dx, part, [&](int64_t j) { return direct[j] - twice * value[j] * sum[j]; });
  });
}

/// Calls visit(offset of the tile's first element, tile, scratch) for every tile, in parallel.
template <bool kChannelsLast, typename Sum, typename Visit>
void each_tile(const at::Tensor& x, int64_t size, Visit visit) {
  const int64_t channels = x.size(1);
  const int64_t plane = x.size(2) * x.size(3);
  const int64_t tiles = (plane + kColumns - 1) / kColumns;
  at::parallel_for(0, x.size(0) * tiles, 1, [&](int64_t begin, int64_t end) {
    Scratch<Sum> scratch(channels, size);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t image = t / tiles * channels * plane;
      const int64_t column = t % tiles * kColumns;
      visit(image + (kChannelsLast ? column * channels : column),
            Tile{channels, plane, std::min(kColumns, plane - column)}, scratch);
    }
  });
}

/// Calls run(std::bool_constant) with whether the channels of `x` lie last.
template <typename Run>
void with_layout(const at::Tensor& x, Run run) {
  x.is_contiguous() ? run(std::false_type()) : run(std::true_type());
}

}  // namespace

at::Tensor local_response_norm_cpu(const at::Tensor& x, const LocalResponseNormOptions& norm) {
  at::Tensor y = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, x.scalar_type(), "local_response_norm", [&] {
        using Sum = at::opmath_type<scalar_t>;
        const NormConstants<Sum> constants(norm);
        const auto* from = x.const_data_ptr<scalar_t>();
        auto* to = y.mutable_data_ptr<scalar_t>();
        with_layout(x, [&](auto last) {
          each_tile<last, Sum>(x, norm.size, [&](int64_t offset, const Tile& tile, auto& scratch) {
            forward_tile<last>(from + offset, tile, constants, scratch, to + offset);
          });
        });
      });
  return y;
}

at::Tensor local_response_norm_backward_cpu(const at::Tensor& x, const at::Tensor& g,
                                            const LocalResponseNormOptions& norm) {
  at::Tensor dx = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, x.scalar_type(), "local_response_norm", [&] {
        using Sum = at::opmath_type<scalar_t>;
        const NormConstants<Sum> constants(norm);
        const auto* value = x.const_data_ptr<scalar_t>();
        const auto* gradient = g.const_data_ptr<scalar_t>();
        auto* to = dx.mutable_data_ptr<scalar_t>();
        with_layout(x, [&](auto last) {
          each_tile<last, Sum>(x, norm.size, [&](int64_t offset, const Tile& tile, auto& scratch) {
            backward_tile<last>(value + offset, gradient + offset, tile, constants, scratch,
                                to + offset);
          });
        });
      });
  return dx;
}

}  // namespace fathom::ops
