#include "ops/kernels/quantized/packed_input.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "ops/kernels/lanes.h"
#include "ops/kernels/quantized/packed_words.h"
#include "ops/kernels/vector_clones.h"

namespace fathom::ops {

using packed_words::column_of;
using packed_words::fields;
using packed_words::kBytes;
using packed_words::offset;

namespace {

/// At most a register of numbers, zeros behind them.
[[gnu::always_inline]] inline void load_some(const float* from, int64_t count, Lanes<float>& to) {
  if (count >= kLanes<float>) return load<float>(from, to);
  to = Lanes<float>{};
  std::memcpy(&to, from, static_cast<std::size_t>(count) * sizeof(float));
}

/// How Q8_0 rounds a group of x: to whole multiples of `scale`, a number in fp16.
struct Rounding {
  float scale;
  float twice;  ///< 2 / the scale before it was rounded
};

[[gnu::always_inline]] inline Rounding rounding_of(const float* group) {
  Lanes<int32_t> most = {};  // the bits of magnitudes have their order
  for (int64_t i = 0; i < kQ8Group; i += kLanes<float>) {
    Lanes<int32_t> bits;
    std::memcpy(&bits, group + i, sizeof bits);
    bits &= 0x7FFFFFFF;
    most = bits > most ? bits : most;
  }
  int32_t largest = 0;
  for (int64_t i = 0; i < kLanes<int32_t>; ++i) largest = std::max(largest, most[i]);
  const float exact = std::bit_cast<float>(largest) / 127;
  const float scale = c10::Half(exact);
  return {.scale = scale, .twice = scale == 0 ? 0 : 2 / exact};
}

/// Whole numbers, of ties those away from zero, as in ggml. It adds integers: the compiler may
/// contract a sum of floats with the product before it, which then rounds ties otherwise.
[[gnu::always_inline]] inline void round(const Rounding& how, Lanes<float>& x) {
  const auto bits = reinterpret_cast<Lanes<uint32_t>>(x);
  const auto magnitude = reinterpret_cast<Lanes<float>>(bits & 0x7FFFFFFF);
  const auto doubled = __builtin_convertvector(magnitude * how.twice, Lanes<int32_t>);
  const auto rounded = __builtin_convertvector((doubled + 1) >> 1, Lanes<float>);
  x = reinterpret_cast<Lanes<float>>(reinterpret_cast<Lanes<uint32_t>>(rounded) |
                                     (bits & 0x80000000));
}

/// What is packed.
struct Input {
  const float* x;  ///< [M, K]
  int64_t rows;
  int64_t columns;  ///< K
  int64_t groups;
  int bits;     ///< of the weight's codes
  bool rounds;  ///< to Q8_0
};

/// Where to: the tensors of PackedInput.
template <typename X>
struct Tiles {
  X* x;
  X* sums;
  float* scales;
};

/// Writes the tile of x that begins with row `first`.
FATHOM_VECTOR_CLONES void write_tile(const Input& input, int64_t first, int64_t padded,
                                     const Tiles<float>& to) {
  const int64_t rows = std::min(kTileRows, input.rows - first);
  const int64_t columns = input.columns / input.groups;  // of a group
  float* tile = to.x + first * padded;
  Lanes<float> factors;
  for (int64_t field = 0; field < kLanes<float>; ++field) {
    const int64_t j = field % fields(input.bits);
    const bool last = j + 1 == fields(input.bits);
    const int64_t lane = field - j + column_of(j, input.bits);
    factors[lane] = last ? 1 : 1 / static_cast<float>(1U << (input.bits * j));
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t group = 0; group < input.groups; ++group) {
      const float* from = input.x + (first + row) * input.columns + group * columns;
      const Rounding how = input.rounds ? rounding_of(from) : Rounding{};
      Lanes<float> total = {};
      for (int64_t i = 0; i < columns; i += kLanes<float>) {
        Lanes<float> x;
        load_some(from + i, columns - i, x);
        if (input.rounds) {
          round(how, x);
          x *= how.scale;
        }
        total += x;
        x *= factors;
        const int64_t column = group * columns + i;
        const int64_t count = std::min(kLanes<float>, padded - column);
        for (int64_t lane = 0; lane < count; ++lane) tile[(column + lane) * rows + row] = x[lane];
      }
      to.sums[first * input.groups + group * rows + row] = sum<float>(total);
    }
  }
}

/// The same, as codes.
FATHOM_VECTOR_CLONES void write_tile(const Input& input, int64_t first, int64_t /*padded*/,
                                     const Tiles<int32_t>& to) {
  using Codes __attribute__((vector_size(kLanes<float>))) = int8_t;
  const int64_t rows = std::min(kTileRows, input.rows - first);
  int32_t* tile = to.x + first * input.columns / kBytes;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t group = 0; group < input.groups; ++group) {
      const float* from = input.x + (first + row) * input.columns + group * kQ8Group;
      const Rounding how = rounding_of(from);
      Lanes<int32_t> total = {};
      for (int64_t i = 0; i < kQ8Group; i += kLanes<float>) {
        Lanes<float> x;
        load<float>(from + i, x);
        round(how, x);
        const auto whole = __builtin_convertvector(x, Lanes<int32_t>);
        total += whole;
        const auto codes = __builtin_convertvector(whole, Codes);
        int32_t words[kLanes<float> / kBytes];
        std::memcpy(words, &codes, sizeof words);
        for (int64_t word = 0; word < kLanes<float> / kBytes; ++word)
          tile[((group * kQ8Group + i) / kBytes + word) * rows + row] = words[word];
      }
      const int64_t place = first * input.groups + group * rows + row;
      to.sums[place] = -offset(input.bits) * sum<int32_t>(total);
      to.scales[place] = how.scale;
    }
  }
}

/// Writes all tiles of x.
template <typename X>
void write_tiles(const Input& input, int64_t padded, const Tiles<X>& to) {
  const int64_t tiles = (input.rows + kTileRows - 1) / kTileRows;
  const int64_t grain = std::max<int64_t>(kPackedGrain / (padded * kTileRows), 1);
  at::parallel_for(0, tiles, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * kTileRows; row < end * kTileRows; row += kTileRows)
      write_tile(input, row, padded, to);
  });
}

}  // namespace

PackedInput packed_input(const at::Tensor& x, const PackedWeight& weight, bool codes) {
  const at::Tensor contiguous = x.contiguous();
  const Input input{.x = contiguous.const_data_ptr<float>(),
                    .rows = x.size(0),
                    .columns = x.size(1),
                    .groups = weight.scales.size(1),
                    .bits = weight_format(weight.precision).bits,
                    .rounds = fixtures::is_of_llama_cpp(weight.precision)};
  const int64_t columns = weight.words.size(1) * fields(input.bits);
  const auto type = x.options().dtype(codes ? at::kInt : at::kFloat);
  PackedInput packed{.x = at::empty({input.rows, codes ? columns / kBytes : columns}, type),
                     .sums = at::empty({input.rows, input.groups}, type),
                     .scales = at::empty({codes ? input.rows : 0, input.groups}, x.options())};
  const auto write = [&]<typename X>(X /*type*/) {
    write_tiles(input, columns,
                Tiles<X>{.x = packed.x.mutable_data_ptr<X>(),
                         .sums = packed.sums.mutable_data_ptr<X>(),
                         .scales = packed.scales.mutable_data_ptr<float>()});
  };
  codes ? write(int32_t{}) : write(float{});
  return packed;
}

}  // namespace fathom::ops
