#include "ops/kernels/quantized/torch_product.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_convert_weight_to_int4pack_for_cpu.h>
#include <ATen/ops/_int_mm.h>
#include <ATen/ops/_scaled_mm.h>
#include <ATen/ops/_weight_int4pack_mm_for_cpu.h>
#include <ATen/ops/_weight_int8pack_mm.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <string_view>

namespace fathom::ops {
namespace {

using fixtures::Precision;

using OptionalTensor = std::optional<at::Tensor>;
using Scalars = c10::List<std::optional<at::Scalar>>;

/// onednn::qlinear_pointwise, which has no C++ header: (x, its scale and zero, weight, its scales
/// and zeros, bias, the result's scale, zero and type, a function of it, its scalars, algorithm).
using Linear = at::Tensor(at::Tensor, double, int64_t, at::Tensor, at::Tensor, at::Tensor,
                          OptionalTensor, double, int64_t, std::optional<at::ScalarType>,
                          std::string_view, Scalars, std::string_view);

/// onednn::qconv2d_pointwise: as above, with stride, padding, dilation and groups after the bias.
using Convolution = at::Tensor(at::Tensor, double, int64_t, at::Tensor, at::Tensor, at::Tensor,
                               OptionalTensor, c10::List<int64_t>, c10::List<int64_t>,
                               c10::List<int64_t>, int64_t, double, int64_t,
                               std::optional<at::ScalarType>, std::string_view, Scalars,
                               std::optional<std::string_view>);

c10::OperatorHandle find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
}

/// Of which LibTorch's kernels of weights alone take multiples: rows of 4-bit codes, and columns of
/// 8-bit ones. With others, the latter read beyond the rows' ends (LibTorch 2.11).
constexpr int64_t kMultiple = 16;

/// Zeros behind, up to such a multiple.
at::Tensor with_rows(const at::Tensor& matrix) {
  return at::constant_pad_nd(matrix, {0, 0, 0, -matrix.size(0) & (kMultiple - 1)});
}
at::Tensor with_columns(const at::Tensor& matrix) {
  const int64_t missing = -matrix.size(1) & (kMultiple - 1);
  return missing == 0 ? matrix : at::constant_pad_nd(matrix, {0, missing});
}

/// A matrix of e4m3 with zeros behind; a byte of 0 is the number 0.
at::Tensor fp8_with_columns(const at::Tensor& codes) {
  return with_columns(codes.view(at::kByte)).view(at::kFloat8_e4m3fn);
}

/// _scaled_mm wants multiples of 16 for N and K.
QuantizedProduct fp8_product(const WeightCodes& weight, const OptionalTensor& bias,
                             const ActivationCodes& x) {
  const at::Tensor rows = with_rows(weight.codes.view(at::kByte));
  const at::Tensor x_scale = at::full({}, x.scale, weight.codes.options().dtype(at::kFloat));
  return [transposed = with_columns(rows).view(at::kFloat8_e4m3fn).t(), x_scale, bias,
          scale = weight.scales.squeeze().to(at::kFloat),
          outputs = weight.codes.size(0)](const at::Tensor& codes) {
    const at::Tensor y =
        at::_scaled_mm(fp8_with_columns(codes), transposed, x_scale, scale, {}, {}, at::kFloat)
            .slice(1, 0, outputs);
    return bias ? y + *bias : y.contiguous();
  };
}

/// Runs a kernel of bf16 on fp32.
QuantizedProduct in_bf16(const OptionalTensor& bias, const QuantizedProduct& product) {
  const OptionalTensor added = bias ? OptionalTensor(bias->to(at::kBFloat16)) : std::nullopt;
  return [=](const at::Tensor& x) {
    at::Tensor y = product(x.to(at::kBFloat16));
    if (added) y = y + *added;
    return y.to(at::kFloat);
  };
}

bool saturates() {
  constexpr int64_t kColumns = 256;
  constexpr double kMostX = 255;
  constexpr double kMostW = 127;
  const c10::InferenceMode inference;
  const WeightCodes weight{.precision = Precision::kInt8,
                           .codes = at::full({1, kColumns}, kMostW, at::kChar),
                           .scales = at::ones({1, 1})};
  const at::Tensor x = at::full({1, kColumns}, kMostX, at::kByte);
  const at::Tensor y = torch_product(weight, {}, {.scale = 1, .zero = 0})(x);
  return y.item<double>() != kColumns * kMostX * kMostW;
}

}  // namespace

QuantizedProduct torch_product(const WeightCodes& weight, const OptionalTensor& bias) {
  if (weight.precision == Precision::kInt8w) {
    return in_bf16(bias, [codes = with_columns(weight.codes),
                          scales = weight.scales.flatten().to(at::kBFloat16)](const at::Tensor& x) {
      return at::_weight_int8pack_mm(with_columns(x), codes, scales);
    });
  }
  if (weight.precision == Precision::kInt4w) {
    const auto by_group = [](const at::Tensor& constants) {
      return with_rows(constants.to(at::kBFloat16)).t();
    };
    const at::Tensor codes = with_rows(weight.codes.to(at::kInt) + 8);
    return in_bf16(
        bias, [packed = at::_convert_weight_to_int4pack_for_cpu(codes, 1),
               group = weight.codes.size(1) / weight.scales.size(1), outputs = weight.codes.size(0),
               constants = at::stack({by_group(weight.scales), by_group(weight.zeros)}, 2)](
                  const at::Tensor& x) {
          return at::_weight_int4pack_mm_for_cpu(x, packed, group, constants).slice(1, 0, outputs);
        });
  }
  return nullptr;
}

QuantizedProduct torch_product(const WeightCodes& weight, const OptionalTensor& bias,
                               const ActivationCodes& x) {
  if (weight.precision == Precision::kFp8) return fp8_product(weight, bias, x);
  std::vector<c10::IValue> arguments{weight.codes.contiguous(), c10::IValue()};
  find("onednn::qlinear_prepack").callBoxed(arguments);
  return [=, op = find("onednn::qlinear_pointwise").typed<Linear>(),
          packed = arguments.at(0).toTensor(), scales = weight.scales.flatten().to(at::kFloat),
          zeros = at::zeros({weight.codes.size(0)}, at::kInt),
          none = Scalars()](const at::Tensor& codes) {
    return op.call(codes, x.scale, x.zero, packed, scales, zeros, bias, 1, 0, at::kFloat, "none",
                   none, "");
  };
}

QuantizedProduct torch_convolution(const WeightCodes& weight, const OptionalTensor& bias,
                                   const ActivationCodes& x, const ConvolutionOptions& how) {
  const at::Tensor scales = weight.scales.flatten().to(at::kFloat);
  const c10::List<int64_t> stride(how.stride);
  const c10::List<int64_t> padding(how.padding);
  const c10::List<int64_t> dilation(how.dilation);
  std::vector<c10::IValue> arguments{weight.codes, scales,   x.scale,    x.zero,       stride,
                                     padding,      dilation, how.groups, c10::IValue()};
  find("onednn::qconv_prepack").callBoxed(arguments);
  return [=, op = find("onednn::qconv2d_pointwise").typed<Convolution>(),
          packed = arguments.at(0).toTensor(), zeros = at::zeros({scales.size(0)}, at::kInt),
          none = Scalars()](const at::Tensor& codes) {
    return op.call(codes, x.scale, x.zero, packed, scales, zeros, bias, stride, padding, dilation,
                   how.groups, 1, 0, at::kFloat, "none", none, std::nullopt);
  };
}

QuantizedProduct torch_sums(const WeightCodes& weight) {
  if (weight.codes.is_cpu())
    return
        [transposed = weight.codes.t()](const at::Tensor& x) { return at::_int_mm(x, transposed); };
  // On a GPU, _int_mm wants more than 16 rows of x, and multiples of 8 for N and K.
  return [transposed = with_columns(with_rows(weight.codes)).t(),
          outputs = weight.codes.size(0)](const at::Tensor& x) {
    constexpr int64_t kLeastRows = 17;
    const int64_t missing = std::max<int64_t>(kLeastRows - x.size(0), 0);
    const at::Tensor rows = missing == 0 ? x : at::constant_pad_nd(x, {0, 0, 0, missing});
    return at::_int_mm(with_columns(rows), transposed)
        .slice(0, 0, x.size(0))
        .slice(1, 0, outputs)
        .contiguous();
  };
}

std::string torch_product_name(Precision precision, bool per_token) {
  if (precision == Precision::kInt8w) return "_weight_int8pack_mm in bf16";
  if (precision == Precision::kInt4w) return "_weight_int4pack_mm_for_cpu in bf16";
  if (precision == Precision::kFp8) return "_scaled_mm";
  if (precision != Precision::kInt8) return "";
  return with_weight_bits(per_token ? "_int_mm" : "onednn::qlinear_pointwise");
}

std::string torch_convolution_name() { return with_weight_bits("onednn::qconv2d_pointwise"); }

std::string with_weight_bits(const std::string& kernel) {
  return kernel + (exact_weight_bits() == 7 ? " 7-bit weights" : "");
}

int exact_weight_bits() {
  static const int bits = saturates() ? 7 : 8;
  return bits;
}

}  // namespace fathom::ops
