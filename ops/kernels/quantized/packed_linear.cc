#include "ops/kernels/quantized/packed_linear.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "ops/kernels/lanes.h"
#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;

constexpr int64_t kGroup = 32;        // columns of a scale
constexpr int64_t kMostRows = 8;      // for which a code is converted once
constexpr int64_t kRowsInCache = 64;  // of x, while a thread runs through its blocks
constexpr int64_t kGrain = 1 << 15;   // minimum elements of the weight per thread
constexpr int64_t kAhead = 512;       // words between the loads and the prefetches of the codes

/// The fields of a word of codes with so many bits.
constexpr int64_t fields(int bits) { return 32 / bits; }

/// Registers of 8 or 16 words.
template <int64_t lanes>
struct Registers;
template <>
struct Registers<8> {
  using Words = Lanes<uint32_t>;
  using Integers = Lanes<int32_t>;
  using Floats = Lanes<float>;
  using Pairs __attribute__((vector_size(16))) = uint32_t;

  [[gnu::always_inline]] static void concatenate(const Pairs& low, const Pairs& high, Words& to) {
    to = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  }
};
template <>
struct Registers<16> {
  using Words __attribute__((vector_size(64))) = uint32_t;
  using Integers __attribute__((vector_size(64))) = int32_t;
  using Floats __attribute__((vector_size(64))) = float;
  using Pairs = Lanes<uint32_t>;

  [[gnu::always_inline]] static void concatenate(const Pairs& low, const Pairs& high, Words& to) {
    to = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
};

/// A format with codes of so many bits. All formats add kOffset, so that codes are unsigned.
template <typename Constant, int bits, int64_t lanes>
struct Format {
  using Words = Registers<lanes>::Words;
  using Integers = Registers<lanes>::Integers;
  using Floats = Registers<lanes>::Floats;
  static constexpr int64_t kOutputs = lanes;  ///< of a block
  static constexpr int64_t kFields = fields(bits);
  static constexpr float kOffset = 1 << (bits - 1);

  /// The codes of field j, times 2^(bits · j) unless it is the last: x is divided by that.
  template <int64_t j>
  [[gnu::always_inline]] static void field(const Words& words, Floats& to) {
    constexpr uint32_t kMask = ((1U << bits) - 1) << (bits * j);
    const Words codes = j + 1 == kFields ? words >> (32 - bits) : words & kMask;
    to = __builtin_convertvector(reinterpret_cast<Integers>(codes), Floats);
  }

  /// The constants of a group of a block.
  [[gnu::always_inline]] static void load_constants(const uint32_t* from, Floats& to) {
    typename Registers<lanes>::Pairs pairs;
    std::memcpy(&pairs, from, sizeof pairs);
    Words halves;
    Registers<lanes>::concatenate(pairs & 0xFFFF, pairs >> 16, halves);
    if constexpr (std::is_same_v<Constant, c10::Half>) {
      widen_halves(reinterpret_cast<Integers>(halves), to);
    } else {
      to = reinterpret_cast<Floats>(halves << 16);
    }
  }
};

/// The operands of a product. K' is K up to whole words. The rows of x are in tiles of kMostRows
/// and one with the rest: [K', rows of the tile].
struct Product {
  const float* x;     ///< divided as the fields want
  const float* sums;  ///< of each group of x, in the same tiles: [groups, rows of the tile]
  const uint32_t* words;
  const uint32_t* scales;
  const uint32_t* zeros;
  const float* bias;
  float* y;  ///< [M, N]
  int64_t rows;
  int64_t columns;  ///< K'
  int64_t groups;   ///< scales of an output
  int64_t outputs;
};

/// Adds fields j and later of the words, times x, to the sums. A row has several sums, so that an
/// addition need not wait for the one before.
template <typename F, int64_t j, int64_t chains, int64_t rows>
[[gnu::always_inline]] inline void add_fields(const typename F::Words& words, const float* x,
                                              typename F::Floats (&sums)[chains][rows]) {
  typename F::Floats codes;
  F::template field<j>(words, codes);
  FATHOM_UNROLLED
  for (int64_t row = 0; row < rows; ++row) sums[j % chains][row] += codes * x[j * rows + row];
  if constexpr (j + 1 < F::kFields) add_fields<F, j + 1>(words, x, sums);
}

/// A block of outputs of the tile of rows that begins at `first`.
template <typename F, int64_t rows>
[[gnu::always_inline]] inline void run_tile(const Product& product, int64_t block, int64_t first) {
  using Floats = F::Floats;
  constexpr int64_t kPairs = F::kOutputs / 2;  // of constants
  constexpr int64_t kChains = rows == 1 ? 4 : rows <= 5 ? 2 : 1;
  const int64_t groups = product.groups;
  const int64_t steps = product.columns / groups / F::kFields;  // of a group
  const uint32_t* words = product.words + block * product.columns / F::kFields * F::kOutputs;
  const uint32_t* constants = product.scales + block * groups * kPairs;
  const uint32_t* zero_points =
      product.zeros == nullptr ? nullptr : product.zeros + block * groups * kPairs;
  const float* x = product.x + first * product.columns;
  const float* x_sums = product.sums + first * groups;
  Floats totals[rows] = {};
  for (int64_t group = 0; group < groups; ++group) {
    Floats sums[kChains][rows] = {};
    for (int64_t step = 0; step < steps; ++step) {
      typename F::Words some;
      std::memcpy(&some, words, sizeof some);
      __builtin_prefetch(words + kAhead);
      add_fields<F, 0>(some, x, sums);
      words += F::kOutputs;
      x += F::kFields * rows;
    }
    Floats scales;
    Floats zeros = {};
    F::load_constants(constants + group * kPairs, scales);
    if (zero_points != nullptr) F::load_constants(zero_points + group * kPairs, zeros);
    zeros -= F::kOffset * scales;
    FATHOM_UNROLLED
    for (int64_t row = 0; row < rows; ++row) {
      FATHOM_UNROLLED
      for (int64_t chain = 1; chain < kChains; ++chain) sums[0][row] += sums[chain][row];
      totals[row] += sums[0][row] * scales + zeros * x_sums[group * rows + row];
    }
  }
  const int64_t output = block * F::kOutputs;
  const auto bytes = static_cast<std::size_t>(std::min(F::kOutputs, product.outputs - output)) * 4;
  Floats bias = {};
  if (product.bias != nullptr) std::memcpy(&bias, product.bias + output, bytes);
  FATHOM_UNROLLED
  for (int64_t row = 0; row < rows; ++row) {
    const Floats y = totals[row] + bias;
    std::memcpy(product.y + (first + row) * product.outputs + output, &y, bytes);
  }
}

/// A block of outputs of the tile of `count` rows, at most `rows`, that begins at `first`.
template <typename F, int64_t rows>
[[gnu::always_inline]] inline void run_rows(const Product& product, int64_t block, int64_t first,
                                            int64_t count) {
  if constexpr (rows > 1) {
    if (count < rows) return run_rows<F, rows - 1>(product, block, first, count);
  }
  run_tile<F, rows>(product, block, first);
}

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
  float most = 0;
  for (int64_t i = 0; i < kGroup; ++i) most = std::max(most, std::abs(group[i]));
  const float exact = most / 127;
  const float scale = c10::Half(exact);
  return {.scale = scale, .twice = scale == 0 ? 0 : 2 / exact};
}

/// Ties round away from zero, as in ggml. It adds integers: the compiler may contract a sum of
/// floats with the product before it, which then rounds ties otherwise.
[[gnu::always_inline]] inline void round(const Rounding& how, Lanes<float>& x) {
  const auto bits = reinterpret_cast<Lanes<uint32_t>>(x);
  const auto magnitude = reinterpret_cast<Lanes<float>>(bits & 0x7FFFFFFF);
  const auto doubled = __builtin_convertvector(magnitude * how.twice, Lanes<int32_t>);
  const Lanes<float> rounded =
      __builtin_convertvector((doubled + 1) >> 1, Lanes<float>) * how.scale;
  x = reinterpret_cast<Lanes<float>>(reinterpret_cast<Lanes<uint32_t>>(rounded) |
                                     (bits & 0x80000000));
}

/// Operands of a product as packed_linear() gets them.
struct Input {
  const float* x;  ///< [M, K]
  int64_t rows;
  int64_t columns;  ///< K
  int64_t groups;
  int bits;     ///< of the weight's codes
  bool rounds;  ///< to Q8_0
};

/// Writes a tile of x and its sums, as in Product.
FATHOM_VECTOR_CLONES void write_tile(const Input& input, int64_t first, int64_t padded, float* tile,
                                     float* sums) {
  const int64_t rows = std::min(kMostRows, input.rows - first);
  const int64_t columns = input.columns / input.groups;  // of a group
  Lanes<float> factors;
  for (int64_t i = 0; i < kLanes<float>; ++i) {
    const int64_t field = i % fields(input.bits);
    factors[i] =
        field + 1 == fields(input.bits) ? 1 : 1 / static_cast<float>(1U << (input.bits * field));
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t group = 0; group < input.groups; ++group) {
      const float* from = input.x + (first + row) * input.columns + group * columns;
      const Rounding how = input.rounds ? rounding_of(from) : Rounding{};
      Lanes<float> total = {};
      for (int64_t i = 0; i < columns; i += kLanes<float>) {
        Lanes<float> x;
        load_some(from + i, columns - i, x);
        if (input.rounds) round(how, x);
        total += x;
        x *= factors;
        const int64_t column = group * columns + i;
        const int64_t count = std::min(kLanes<float>, padded - column);
        for (int64_t lane = 0; lane < count; ++lane) tile[(column + lane) * rows + row] = x[lane];
      }
      sums[group * rows + row] = sum<float>(total);
    }
  }
}

template <typename F>
[[gnu::always_inline]] inline void run_blocks(const Product& product, int64_t begin, int64_t end) {
  for (int64_t cached = 0; cached < product.rows; cached += kRowsInCache) {
    const int64_t last = std::min(cached + kRowsInCache, product.rows);
    for (int64_t block = begin; block < end; ++block) {
      for (int64_t row = cached; row < last; row += kMostRows)
        run_rows<F, kMostRows>(product, block, row, last - row);
    }
  }
}

// GCC keeps vectors in registers only if they are no longer than the target's.
template <typename Constant, int bits>
FATHOM_AVX512 void run_16(const Product& product, int64_t begin, int64_t end) {
  run_blocks<Format<Constant, bits, 16>>(product, begin, end);
}
template <typename Constant, int bits>
FATHOM_NARROW_CLONES void run_8(const Product& product, int64_t begin, int64_t end) {
  run_blocks<Format<Constant, bits, 8>>(product, begin, end);
}

using Run = void (*)(const Product& product, int64_t begin, int64_t end);

template <typename Constant, int bits>
Run run_of(int64_t outputs) {
  return outputs == 16 ? run_16<Constant, bits> : run_8<Constant, bits>;
}

Run run_of(Precision precision, int64_t outputs) {
  switch (precision) {
    case Precision::kInt4w:
      return run_of<c10::BFloat16, 4>(outputs);
    case Precision::kQ8_0:
      return run_of<c10::Half, 8>(outputs);
    case Precision::kQ4_0:
      return run_of<c10::Half, 4>(outputs);
    default:
      return run_of<c10::BFloat16, 8>(outputs);
  }
}

/// The tensor with zeros behind each row, up to a multiple of `whole` columns.
at::Tensor padded(const at::Tensor& tensor, int64_t whole) {
  const int64_t missing = (whole - tensor.size(-1) % whole) % whole;
  return missing == 0 ? tensor : at::constant_pad_nd(tensor, {0, missing});
}

/// [N, ...] as [blocks, ..., outputs], with zeros behind the last output.
at::Tensor in_blocks(const at::Tensor& tensor, int64_t outputs) {
  return padded(tensor.movedim(0, -1), outputs).unflatten(-1, {-1, outputs}).movedim(-2, 0);
}

}  // namespace

int64_t packed_outputs() { return has_avx512() ? 16 : 8; }

PackedWeight packed(const WeightCodes& weight, int64_t outputs) {
  const WeightFormat format = weight_format(weight.precision);
  const int bits = format.bits;
  const auto constants = [&](const at::Tensor& of_groups) {
    const at::Tensor blocks = in_blocks(of_groups.to(format.constants), outputs);
    return blocks.unflatten(-1, {2, -1}).transpose(-1, -2).contiguous();
  };
  const at::Tensor unsigned_codes = weight.codes.to(at::kInt) + (1 << (bits - 1));
  const at::Tensor codes = padded(unsigned_codes, fields(bits)).unflatten(1, {-1, fields(bits)});
  at::Tensor words = codes.select(2, 0).clone();
  for (int64_t j = 1; j < fields(bits); ++j)
    words.bitwise_or_(codes.select(2, j).bitwise_left_shift(bits * j));
  return {.precision = weight.precision,
          .outputs = weight.codes.size(0),
          .words = in_blocks(words, outputs).contiguous(),
          .scales = constants(weight.scales),
          .zeros = format.zeros ? constants(weight.zeros) : at::Tensor()};
}

at::Tensor packed_linear(const at::Tensor& x, const PackedWeight& weight,
                         const std::optional<at::Tensor>& bias) {
  const auto precision = weight.precision;
  const at::Tensor rows = x.contiguous();
  const Input input{.x = rows.const_data_ptr<float>(),
                    .rows = x.size(0),
                    .columns = x.size(1),
                    .groups = weight.scales.size(1),
                    .bits = weight_format(precision).bits,
                    .rounds = precision == Precision::kQ8_0 || precision == Precision::kQ4_0};
  const int64_t columns = weight.words.size(1) * fields(input.bits);
  at::Tensor tiles = at::empty({input.rows * columns}, x.options());
  at::Tensor sums = at::empty({input.rows * input.groups}, x.options());
  at::Tensor y = at::empty({input.rows, weight.outputs}, x.options());
  at::parallel_for(
      0, (input.rows + kMostRows - 1) / kMostRows,
      std::max<int64_t>(kGrain / (columns * kMostRows), 1), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin * kMostRows; row < end * kMostRows; row += kMostRows)
          write_tile(input, row, columns, tiles.mutable_data_ptr<float>() + row * columns,
                     sums.mutable_data_ptr<float>() + row * input.groups);
      });
  const auto words = [](const at::Tensor& tensor) {
    return static_cast<const uint32_t*>(tensor.const_data_ptr());
  };
  const Product product{.x = tiles.const_data_ptr<float>(),
                        .sums = sums.const_data_ptr<float>(),
                        .words = words(weight.words),
                        .scales = words(weight.scales),
                        .zeros = weight.zeros.defined() ? words(weight.zeros) : nullptr,
                        .bias = bias ? bias->const_data_ptr<float>() : nullptr,
                        .y = y.mutable_data_ptr<float>(),
                        .rows = input.rows,
                        .columns = columns,
                        .groups = input.groups,
                        .outputs = weight.outputs};
  const int64_t outputs = weight.words.size(2);  // of a block
  const int64_t grain = std::max<int64_t>(kGrain / (columns * outputs), 1);
  const Run run = run_of(precision, outputs);
  at::parallel_for(0, weight.words.size(0), grain,
                   [&](int64_t begin, int64_t end) { run(product, begin, end); });
  return y;
}

at::Tensor rounded_to_q8_0(const at::Tensor& x) {
  return quantized(x.to(at::kFloat), Precision::kQ8_0).dequantized().to(x.scalar_type());
}

}  // namespace fathom::ops
