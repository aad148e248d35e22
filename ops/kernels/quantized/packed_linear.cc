#include "ops/kernels/quantized/packed_linear.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

#include <algorithm>
#include <array>

#include "ops/kernels/lanes.h"
#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

using fixtures::Precision;

constexpr int64_t kGroup = 32;            // columns of a scale
constexpr int64_t kWords = 16;            // of a step of the loops: one register of AVX-512
constexpr int64_t kGrain = 1 << 15;       // minimum elements of the weight per thread
constexpr int64_t kAhead = 512;           // words between the loads and the prefetches of the codes
constexpr int64_t kMostGroups = 1 << 10;  // whose scales are converted at a time

using Words __attribute__((vector_size(64))) = uint32_t;
using Integers __attribute__((vector_size(64))) = int32_t;
using Floats __attribute__((vector_size(64))) = float;

/// A format with codes of so many bits. All formats add kOffset, so that codes are unsigned.
template <typename ScaleType, int bits, bool grouped>
struct Format {
  using Scale = ScaleType;
  static constexpr int64_t kFields = 32 / bits;
  static constexpr int64_t kColumns = kFields * kWords;  ///< of a step
  static constexpr float kOffset = 1 << (bits - 1);
  static constexpr bool kGrouped = grouped;

  /// The codes of field j, times 2^(bits · j) unless it is the last: x is divided by that.
  template <int64_t j>
  [[gnu::always_inline]] static void field(const Words& words, Floats& to) {
    constexpr uint32_t kMask = ((1U << bits) - 1) << (bits * j);
    const Words codes = j + 1 == kFields ? words >> (32 - bits) : words & kMask;
    to = __builtin_convertvector(reinterpret_cast<Integers>(codes), Floats);
  }
};
using Int8w = Format<c10::BFloat16, 8, false>;
using Int4w = Format<c10::BFloat16, 4, true>;
using Q8 = Format<c10::Half, 8, true>;
using Q4 = Format<c10::Half, 4, true>;

/// The operands of a product of at most kMaxPackedRows rows.
struct Product {
  const float* x;     ///< [M, K'], divided as the fields want
  const float* sums;  ///< of each group of x [M, K / group], zeros behind those of a row
  int64_t sums_stride;
  const uint32_t* words;
  const void* scales;
  const void* zeros;
  const float* bias;
  float* y;
  int64_t rows;
  int64_t groups;  ///< scales of an output
  int64_t steps;   ///< of an output: K' / kColumns
  int64_t outputs;
};

/// The sum of the lanes, in few steps that wait for each other.
[[gnu::always_inline]] inline float total(const Floats& lanes, const Lanes<float>& more) {
  Lanes<float> halves[2];
  std::memcpy(halves, &lanes, sizeof lanes);
  const Lanes<float> eight = halves[0] + halves[1] + more;
  return ((eight[0] + eight[1]) + (eight[2] + eight[3])) +
         ((eight[4] + eight[5]) + (eight[6] + eight[7]));
}

/// The constants of at most eight groups in fp32, zeros behind them.
template <typename Scale>
[[gnu::always_inline]] inline void load_constants(const Scale* from, int64_t count,
                                                  Lanes<float>& to) {
  if (count >= kLanes<float>) return load<float>(from, to);
  Scale some[kLanes<float>] = {};
  std::copy_n(from, count, some);
  load<float>(some, to);
}

/// Writes the scales of some groups in fp32, and adds what the groups' zeros and the codes' offset
/// contribute to each row: (zero - offset · scale) times the sum of the group of x.
template <typename F, int64_t rows>
[[gnu::always_inline]] inline void begin_groups(const typename F::Scale* from,
                                                const typename F::Scale* zeros, int64_t count,
                                                const float* x_sums, int64_t x_stride,
                                                float* scales, Lanes<float> (&offsets)[rows]) {
  for (int64_t i = 0; i < count; i += kLanes<float>) {
    Lanes<float> scale;
    Lanes<float> zero = {};
    load_constants(from + i, count - i, scale);
    if (zeros != nullptr) load_constants(zeros + i, count - i, zero);
    std::memcpy(scales + i, &scale, sizeof scale);
    zero -= F::kOffset * scale;
    FATHOM_UNROLLED
    for (int64_t row = 0; row < rows; ++row) {
      Lanes<float> x;
      std::memcpy(&x, x_sums + row * x_stride + i, sizeof x);
      offsets[row] += x * zero;
    }
  }
}

/// Adds fields `pair` and `pair` + 1 of some words times x to the sums.
template <typename F, int64_t pair, int64_t rows>
[[gnu::always_inline]] inline void add_pairs(const Words& words, const float* x, int64_t x_stride,
                                             const float* scales, Floats (&sums)[2][rows]) {
  Floats low;
  Floats high;
  F::template field<pair>(words, low);
  F::template field<pair + 1>(words, high);
  FATHOM_UNROLLED
  for (int64_t row = 0; row < rows; ++row) {
    const float* from = x + row * x_stride + pair * kWords;
    Floats x_low;
    Floats x_high;
    std::memcpy(&x_low, from, sizeof x_low);
    std::memcpy(&x_high, from + kWords, sizeof x_high);
    if constexpr (F::kGrouped) {
      sums[pair / 2 % 2][row] += (low * x_low + high * x_high) * scales[pair / 2];
    } else {
      sums[0][row] += low * x_low;
      sums[1][row] += high * x_high;
    }
  }
  if constexpr (pair + 2 < F::kFields) add_pairs<F, pair + 2>(words, x, x_stride, scales, sums);
}

/// The outputs from `begin` to `end` of `rows` rows.
template <int64_t rows, typename F>
[[gnu::always_inline]] inline void run_rows(const Product& product, int64_t begin, int64_t end) {
  if constexpr (rows > 1) {
    if (product.rows < rows) return run_rows<rows - 1, F>(product, begin, end);
  }
  using Scale = F::Scale;
  constexpr int64_t kGroups = F::kGrouped ? F::kColumns / kGroup : 0;  // of a step
  const int64_t x_stride = product.steps * F::kColumns;
  const int64_t most_steps = F::kGrouped ? kMostGroups / kGroups : product.steps;
  float scales[kMostGroups + kLanes<float>] = {};
  for (int64_t output = begin; output < end; ++output) {
    const uint32_t* words = product.words + output * product.steps * kWords;
    const auto* of_output = static_cast<const Scale*>(product.scales) + output * product.groups;
    const auto* zeros = static_cast<const Scale*>(product.zeros);
    if (zeros != nullptr) zeros += output * product.groups;
    Floats sums[2][rows] = {};
    Lanes<float> offsets[rows] = {};
    for (int64_t first = 0; first < product.steps; first += most_steps) {
      const int64_t steps = std::min(product.steps - first, most_steps);
      if constexpr (F::kGrouped) {
        const int64_t group = first * kGroups;
        begin_groups<F>(of_output + group, zeros == nullptr ? nullptr : zeros + group,
                        std::min(steps * kGroups, product.groups - group), product.sums + group,
                        product.sums_stride, scales, offsets);
      }
      for (int64_t step = 0; step < steps; ++step) {
        Words some;
        std::memcpy(&some, words + (first + step) * kWords, sizeof some);
        __builtin_prefetch(words + (first + step) * kWords + kAhead);
        add_pairs<F, 0>(some, product.x + (first + step) * F::kColumns, x_stride,
                        scales + step * kGroups, sums);
      }
    }
    FATHOM_UNROLLED
    for (int64_t row = 0; row < rows; ++row) {
      float y = total(sums[0][row] + sums[1][row], offsets[row]);
      if constexpr (!F::kGrouped)
        y = (y - F::kOffset * product.sums[row * product.sums_stride]) *
            static_cast<float>(of_output[0]);
      if (product.bias != nullptr) y += product.bias[output];
      product.y[row * product.outputs + output] = y;
    }
  }
}

template <typename F>
FATHOM_VECTOR_CLONES void run_outputs(const Product& product, int64_t begin, int64_t end) {
  run_rows<kMaxPackedRows, F>(product, begin, end);
}

using Run = void (*)(const Product& product, int64_t begin, int64_t end);

Run run_of(Precision precision) {
  switch (precision) {
    case Precision::kInt4w:
      return run_outputs<Int4w>;
    case Precision::kQ8_0:
      return run_outputs<Q8>;
    case Precision::kQ4_0:
      return run_outputs<Q4>;
    default:
      return run_outputs<Int8w>;
  }
}

/// The fields of a word of codes with so many bits.
int64_t fields(int bits) { return 32 / bits; }

/// Columns with zeros behind, up to whole words of codes.
at::Tensor padded(const at::Tensor& columns, int bits) {
  const int64_t whole = fields(bits) * kWords;
  const int64_t missing = (whole - columns.size(1) % whole) % whole;
  return missing == 0 ? columns : at::constant_pad_nd(columns, {0, missing});
}

/// x [M, K'], each column divided by the power of two that its code is multiplied with.
at::Tensor divided(const at::Tensor& x, int bits) {
  const at::Tensor whole = padded(x, bits);
  at::Tensor factors = at::arange(fields(bits), x.options()).mul_(-bits).exp2_();
  factors[-1] = 1;
  const at::Tensor columns = whole.view({x.size(0), -1, fields(bits), kWords});
  return (columns * factors.view({-1, 1})).view_as(whole);
}

at::Tensor unpacked(const PackedWeight& weight) {
  const int bits = weight_format(weight.precision).bits;
  const at::Tensor shifts = at::arange(fields(bits), at::kInt).mul_(bits).view({-1, 1});
  const at::Tensor words = weight.words.view({weight.outputs, -1, 1, kWords});
  const at::Tensor codes = words.bitwise_right_shift(shifts).bitwise_and((1 << bits) - 1);
  WeightCodes plain{.precision = weight.precision,
                    .codes = (codes - (1 << (bits - 1)))
                                 .to(at::kChar)
                                 .view({weight.outputs, -1})
                                 .slice(1, 0, weight.inputs)
                                 .contiguous(),
                    .scales = weight.scales.to(at::kFloat)};
  if (weight.zeros.defined()) plain.zeros = weight.zeros.to(at::kFloat);
  return plain.dequantized();
}

}  // namespace

PackedWeight packed(const WeightCodes& weight) {
  const WeightFormat format = weight_format(weight.precision);
  const int bits = format.bits;
  const at::Tensor codes = padded(weight.codes.to(at::kInt) + (1 << (bits - 1)), bits)
                               .view({weight.codes.size(0), -1, fields(bits), kWords});
  at::Tensor words = codes.select(2, 0).clone();
  for (int64_t j = 1; j < fields(bits); ++j)
    words.bitwise_or_(codes.select(2, j).bitwise_left_shift(bits * j));
  return {.precision = weight.precision,
          .outputs = weight.codes.size(0),
          .inputs = weight.codes.size(1),
          .words = words,
          .scales = weight.scales.to(format.constants).contiguous(),
          .zeros = format.zeros ? weight.zeros.to(format.constants).contiguous() : at::Tensor()};
}

at::Tensor packed_linear(const at::Tensor& x, const PackedWeight& weight,
                         const std::optional<at::Tensor>& bias) {
  const auto precision = weight.precision;
  const WeightFormat format = weight_format(precision);
  const bool rounds = precision == Precision::kQ8_0 || precision == Precision::kQ4_0;
  const at::Tensor input = rounds ? rounded_to_q8_0(x) : x.contiguous();
  const int64_t rows = x.size(0);
  if (rows > kMaxPackedRows) return at::linear(input, unpacked(weight), bias);
  at::Tensor y = at::empty({rows, weight.outputs}, x.options());
  const at::Tensor columns = divided(input, format.bits);
  const int64_t groups = weight.scales.size(1);
  const at::Tensor sums = at::constant_pad_nd(input.view({rows, groups, -1}).sum(-1),
                                              {0, (groups + 7) / 8 * 8 - groups});
  const Product product{.x = columns.const_data_ptr<float>(),
                        .sums = sums.const_data_ptr<float>(),
                        .sums_stride = sums.size(1),
                        .words = reinterpret_cast<const uint32_t*>(weight.words.const_data_ptr()),
                        .scales = weight.scales.const_data_ptr(),
                        .zeros = weight.zeros.defined() ? weight.zeros.const_data_ptr() : nullptr,
                        .bias = bias ? bias->const_data_ptr<float>() : nullptr,
                        .y = y.mutable_data_ptr<float>(),
                        .rows = rows,
                        .groups = groups,
                        .steps = weight.words.size(1),
                        .outputs = weight.outputs};
  const int64_t grain = std::max<int64_t>(kGrain / weight.inputs, 1);
  const Run run = run_of(precision);
  at::parallel_for(0, weight.outputs, grain,
                   [&](int64_t begin, int64_t end) { run(product, begin, end); });
  return y;
}

at::Tensor rounded_to_q8_0(const at::Tensor& x) {
  return quantized(x.to(at::kFloat), Precision::kQ8_0).dequantized().to(x.scalar_type());
}

}  // namespace fathom::ops
