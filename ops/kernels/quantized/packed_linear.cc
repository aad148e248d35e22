#include "ops/kernels/quantized/packed_linear.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <type_traits>

#include "ops/kernels/lanes.h"
#include "ops/kernels/quantized/packed_input.h"
#include "ops/kernels/quantized/packed_words.h"
#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;
using packed_words::column_of;
using packed_words::fields;
using packed_words::kBytes;
using packed_words::offset;

constexpr int64_t kWide = 16;         // outputs of a block with AVX-512
constexpr int64_t kRowsInCache = 64;  // of x, while a thread runs through its blocks
constexpr int64_t kAhead = 512;       // words between the loads and the prefetches of the codes

/// Registers of 8 or 16 words, and as many halves.
template <int64_t lanes>
struct Registers;
template <>
struct Registers<8> {
  using Words = Lanes<uint32_t>;
  using Integers = Lanes<int32_t>;
  using Floats = Lanes<float>;
  using Halves __attribute__((vector_size(16))) = uint16_t;
};
template <>
struct Registers<kWide> {
  using Words __attribute__((vector_size(64))) = uint32_t;
  using Integers __attribute__((vector_size(64))) = int32_t;
  using Floats __attribute__((vector_size(64))) = float;
  using Halves = Lanes<uint16_t>;
};

/// A format with codes of so many bits.
template <typename Constant, int bits, int64_t lanes>
struct Format {
  using Words = Registers<lanes>::Words;
  using Integers = Registers<lanes>::Integers;
  using Floats = Registers<lanes>::Floats;
  using X = float;
  using Sums = Floats;
  static constexpr int64_t kOutputs = lanes;  ///< of a block
  static constexpr int64_t kFields = fields(bits);
  static constexpr float kOffset = offset(bits);

  /// The codes of field j, times 2^(bits · j) unless it is the last: x is divided by that.
  template <int64_t j>
  [[gnu::always_inline]] static void field(const Words& words, Floats& to) {
    constexpr uint32_t kMask = ((1U << bits) - 1) << (bits * j);
    const Words codes = j + 1 == kFields ? words >> (32 - bits) : words & kMask;
    to = __builtin_convertvector(reinterpret_cast<Integers>(codes), Floats);
  }

  /// Adds fields j and later of the words, times x, to the sums. A row has several sums, so that
  /// an addition need not wait for the one before.
  template <int64_t j = 0, int64_t chains, int64_t rows>
  [[gnu::always_inline]] static void add(const Words& words, const float* x,
                                         Floats (&sums)[chains][rows]) {
    Floats codes;
    field<j>(words, codes);
    FATHOM_UNROLLED
    for (int64_t row = 0; row < rows; ++row)
      sums[j % chains][row] += codes * x[column_of(j, bits) * rows + row];
    if constexpr (j + 1 < kFields) add<j + 1>(words, x, sums);
  }

  /// The constants of a group of a block.
  [[gnu::always_inline]] static void load_constants(const uint16_t* from, Floats& to) {
    typename Registers<lanes>::Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    const auto words = __builtin_convertvector(halves, Integers);
    if constexpr (std::is_same_v<Constant, c10::Half>) {
      widen_halves(words, to);
    } else {
      to = reinterpret_cast<Floats>(words << 16);
    }
  }
};

/// llama.cpp's forms, times activations that are codes as well, four columns in an integer: with
/// AVX-512 VNNI, and codes of 4 bits with AVX2.
template <int bits, int64_t lanes>
struct CodesFormat : Format<c10::Half, bits, lanes> {
  using Of = Format<c10::Half, bits, lanes>;
  using Words = Of::Words;
  using Integers = Of::Integers;
  using X = int32_t;
  /// AVX2 adds the products of a group in 16 bits: 32 · 15 · 127 / 2 is less than 2^15.
  using Sums = std::conditional_t<lanes == kWide, Integers, Lanes<int16_t>>;
  static_assert(lanes == kWide || bits == 4);

  template <int64_t chains, int64_t rows>
  [[gnu::always_inline]] static void add(const Words& words, const int32_t* x,
                                         Sums (&sums)[chains][rows]) {
    constexpr uint32_t kMask = 0x01010101 * ((1U << bits) - 1);
    FATHOM_UNROLLED
    for (int64_t part = 0; part < 8 / bits; ++part) {
      const Words codes = bits == 8 ? words : (words >> (bits * part)) & kMask;
      FATHOM_UNROLLED
      for (int64_t row = 0; row < rows; ++row)
        add_products(codes, Integers{} + x[part * rows + row], sums[part % chains][row]);
    }
  }

  /// The sums of 32 bits.
  [[gnu::always_inline]] static void widen(const Sums& sums, Integers& to) {
    to = reinterpret_cast<Integers>(sums);
    if constexpr (lanes != kWide) to = (to << 16 >> 16) + (to >> 16);
  }

  // Instructions, since intrinsics could only stand in functions that are compiled for their
  // target.
#ifdef FATHOM_TARGETS
  /// Adds the products of four codes and four of x, with AVX2 those of each two.
  [[gnu::always_inline]] static void add_products(const Words& codes, const Integers& x, Sums& to) {
    if constexpr (lanes == kWide) {
      asm("vpdpbusd %2, %1, %0" : "+v"(to) : "v"(codes), "v"(x));
    } else {
      Sums products;
      asm("vpmaddubsw %2, %1, %0" : "=x"(products) : "x"(codes), "x"(x));
      to += products;
    }
  }
  [[gnu::always_inline]] static void load_constants(const uint16_t* from, Of::Floats& to) {
    using Halves = Registers<lanes>::Halves;
    asm("vcvtph2ps %1, %0" : "=v"(to) : "m"(*reinterpret_cast<const Halves*>(from)));
  }
#else
  [[gnu::always_inline]] static void add_products(const Words& codes, const Integers& x, Sums& to) {
    if constexpr (lanes == kWide) {
      for (int byte = 0; byte < kBytes; ++byte)
        to += reinterpret_cast<Sums>(codes >> 8 * byte & 0xFF) * (x << 8 * (3 - byte) >> 24);
    } else {
      const auto pairs = reinterpret_cast<Sums>(codes);
      const auto of_x = reinterpret_cast<Sums>(x);
      to += (pairs & 0xFF) * (of_x << 8 >> 8) + (pairs >> 8) * (of_x >> 8);
    }
  }
#endif
};

/// The operands of a product: x as in PackedInput.
struct Product {
  const void* x;
  const void* sums;
  const float* x_scales;
  const uint32_t* words;
  const uint16_t* scales;
  const uint16_t* zeros;
  const float* bias;
  float* y;  ///< [M, N]
  int64_t rows;
  int64_t columns;  ///< K'
  int64_t groups;   ///< scales of an output
  int64_t outputs;
};

/// A block of outputs of the tile of rows that begins at `first`.
template <typename F, int64_t rows>
[[gnu::always_inline]] inline void run_tile(const Product& product, int64_t block, int64_t first) {
  using Floats = F::Floats;
  constexpr bool kCodes = std::is_integral_v<typename F::X>;
  constexpr int64_t kColumnsOfX = kCodes ? kBytes : 1;
  constexpr int64_t kChains = kCodes ? 1 : rows == 1 ? 4 : rows <= 5 ? 2 : 1;
  const int64_t groups = product.groups;
  const int64_t steps = (kCodes ? kQ8Group : product.columns / groups) / F::kFields;  // of a group
  const uint32_t* words = product.words + block * product.columns / F::kFields * F::kOutputs;
  const int64_t constants = block * groups * F::kOutputs;
  const auto* x = static_cast<const F::X*>(product.x) + first * product.columns / kColumnsOfX;
  const auto* x_sums = static_cast<const F::X*>(product.sums) + first * groups;
  const float* x_scales = product.x_scales + first * groups;
  Floats totals[rows] = {};
  for (int64_t group = 0; group < groups; ++group) {
    typename F::Sums sums[kChains][rows] = {};
    for (int64_t step = 0; step < steps; ++step) {
      typename F::Words some;
      std::memcpy(&some, words, sizeof some);
      __builtin_prefetch(words + kAhead);
      F::add(some, x, sums);
      words += F::kOutputs;
      x += F::kFields / kColumnsOfX * rows;
    }
    Floats scales;
    Floats zeros = {};
    F::load_constants(product.scales + constants + group * F::kOutputs, scales);
    if (product.zeros != nullptr)
      F::load_constants(product.zeros + constants + group * F::kOutputs, zeros);
    if constexpr (!kCodes) zeros -= F::kOffset * scales;
    FATHOM_UNROLLED
    for (int64_t row = 0; row < rows; ++row) {
      FATHOM_UNROLLED
      for (int64_t chain = 1; chain < kChains; ++chain) sums[0][row] += sums[chain][row];
      const int64_t of_x = group * rows + row;
      if constexpr (kCodes) {
        typename F::Integers whole;
        F::widen(sums[0][row], whole);
        whole += x_sums[of_x];
        totals[row] += __builtin_convertvector(whole, Floats) * (scales * x_scales[of_x]);
      } else {
        totals[row] += sums[0][row] * scales + zeros * x_sums[of_x];
      }
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

template <typename F>
[[gnu::always_inline]] inline void run_blocks(const Product& product, int64_t begin, int64_t end) {
  for (int64_t cached = 0; cached < product.rows; cached += kRowsInCache) {
    const int64_t last = std::min(cached + kRowsInCache, product.rows);
    for (int64_t block = begin; block < end; ++block) {
      for (int64_t row = cached; row < last; row += kTileRows)
        run_rows<F, kTileRows>(product, block, row, last - row);
    }
  }
}

// GCC keeps vectors in registers only if they are no longer than the target's.
template <typename Constant, int bits>
FATHOM_AVX512 void run_16(const Product& product, int64_t begin, int64_t end) {
  run_blocks<Format<Constant, bits, kWide>>(product, begin, end);
}
template <typename Constant, int bits>
FATHOM_NARROW_CLONES void run_8(const Product& product, int64_t begin, int64_t end) {
  run_blocks<Format<Constant, bits, 8>>(product, begin, end);
}

template <int bits>
FATHOM_AVX512_VNNI void run_codes_16(const Product& product, int64_t begin, int64_t end) {
  run_blocks<CodesFormat<bits, kWide>>(product, begin, end);
}
FATHOM_AVX2 void run_codes_8(const Product& product, int64_t begin, int64_t end) {
  run_blocks<CodesFormat<4, 8>>(product, begin, end);
}

using Run = void (*)(const Product& product, int64_t begin, int64_t end);

template <typename Constant, int bits>
Run run_of(int64_t outputs) {
  return outputs == kWide ? run_16<Constant, bits> : run_8<Constant, bits>;
}

/// Whether a product multiplies the codes of x, not x itself.
bool multiplies_codes(Precision precision, int64_t outputs) {
  if (outputs == kWide) return fixtures::is_of_llama_cpp(precision);
  return precision == Precision::kQ4_0 && has_avx2();
}

Run run_of(Precision precision, int64_t outputs) {
  if (multiplies_codes(precision, outputs)) {
    if (outputs != kWide) return run_codes_8;
    return precision == Precision::kQ8_0 ? run_codes_16<8> : run_codes_16<4>;
  }
  switch (precision) {
    case Precision::kInt4w:
      return run_of<c10::BFloat16, 4>(outputs);
    case Precision::kQ8_0:
      return run_8<c10::Half, 8>;
    case Precision::kQ4_0:
      return run_8<c10::Half, 4>;
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

int64_t packed_outputs(Precision precision) {
  const bool wide = fixtures::is_of_llama_cpp(precision) ? has_avx512_vnni() : has_avx512();
  return wide ? kWide : 8;
}

PackedWeight packed(const WeightCodes& weight) {
  return packed(weight, packed_outputs(weight.precision));
}

PackedWeight packed(const WeightCodes& weight, int64_t outputs) {
  const WeightFormat format = weight_format(weight.precision);
  const int bits = format.bits;
  const auto constants = [&](const at::Tensor& of_groups) {
    return in_blocks(of_groups.to(format.constants), outputs).contiguous();
  };
  const at::Tensor unsigned_codes = weight.codes.to(at::kInt) + offset(bits);
  const at::Tensor codes = padded(unsigned_codes, fields(bits)).unflatten(1, {-1, fields(bits)});
  at::Tensor words = codes.select(2, 0).clone();
  for (int64_t j = 1; j < fields(bits); ++j)
    words.bitwise_or_(codes.select(2, column_of(j, bits)).bitwise_left_shift(bits * j));
  return {.precision = weight.precision,
          .outputs = weight.codes.size(0),
          .words = in_blocks(words, outputs).contiguous(),
          .scales = constants(weight.scales),
          .zeros = format.zeros ? constants(weight.zeros) : at::Tensor()};
}

at::Tensor packed_linear(const at::Tensor& x, const PackedWeight& weight,
                         const std::optional<at::Tensor>& bias) {
  const auto precision = weight.precision;
  const int64_t outputs = weight.words.size(2);  // of a block
  const int64_t columns = weight.words.size(1) * fields(weight_format(precision).bits);
  const PackedInput input = packed_input(x, weight, multiplies_codes(precision, outputs));
  at::Tensor y = at::empty({x.size(0), weight.outputs}, x.options());
  const auto constants = [](const at::Tensor& tensor) {
    return static_cast<const uint16_t*>(tensor.const_data_ptr());
  };
  const Product product{.x = input.x.const_data_ptr(),
                        .sums = input.sums.const_data_ptr(),
                        .x_scales = input.scales.const_data_ptr<float>(),
                        .words = static_cast<const uint32_t*>(weight.words.const_data_ptr()),
                        .scales = constants(weight.scales),
                        .zeros = weight.zeros.defined() ? constants(weight.zeros) : nullptr,
                        .bias = bias ? bias->const_data_ptr<float>() : nullptr,
                        .y = y.mutable_data_ptr<float>(),
                        .rows = x.size(0),
                        .columns = columns,
                        .groups = weight.scales.size(1),
                        .outputs = weight.outputs};
  const int64_t grain = std::max<int64_t>(kPackedGrain / (columns * outputs), 1);
  const Run run = run_of(precision, outputs);
  at::parallel_for(0, weight.words.size(0), grain,
                   [&](int64_t begin, int64_t end) { run(product, begin, end); });
  return y;
}

at::Tensor rounded_to_q8_0(const at::Tensor& x) {
  return quantized(x.to(at::kFloat), Precision::kQ8_0).dequantized().to(x.scalar_type());
}

}  // namespace fathom::ops
