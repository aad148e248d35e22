#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace fathom::ops {

/// Activations in uint8 or e4m3 with one scale and one zero: real = scale · (code - zero).
struct ActivationCodes {
  double scale;
  int64_t zero;

  /// Those that hold all numbers between `least` and `most`, and 0 exactly.
  static ActivationCodes of_range(double least, double most);

  /// The same for codes in e4m3, which have no zero.
  static ActivationCodes fp8_of_range(double least, double most);
};

/// The codes of x in uint8, in its layout, by LibTorch's kernel for fp32.
at::Tensor torch_quantize(const at::Tensor& x, const ActivationCodes& how);

/// The same in one pass of ours, on the CPU.
at::Tensor quantize(const at::Tensor& x, const ActivationCodes& how);

inline constexpr double kMostFp8 = 448;  ///< the largest number of e4m3

/// The nearest numbers of e4m3, in float8_e4m3fn; larger ones become the largest.
at::Tensor fp8(const at::Tensor& x);

/// Tokens [M, K] in int8 with a scale each: real = scale · code.
struct TokenCodes {
  at::Tensor codes;   ///< int8 [M, K]
  at::Tensor scales;  ///< [M]: max |x| / 127
};

/// The codes of tokens, composed of LibTorch's ops, in any floating type.
TokenCodes torch_quantize_tokens(const at::Tensor& x);

/// The same in two passes of ours over each token, on the CPU in fp32.
TokenCodes quantize_tokens(const at::Tensor& x);

/// sums [M, N] · x_scales [M] · weight_scales [N] (+ bias [N]), composed of LibTorch's ops, in the
/// type of the scales.
at::Tensor torch_dequantize(const at::Tensor& sums, const at::Tensor& x_scales,
                            const at::Tensor& weight_scales, const std::optional<at::Tensor>& bias);

/// The same in one pass of ours, on the CPU in fp32.
at::Tensor dequantize(const at::Tensor& sums, const at::Tensor& x_scales,
                      const at::Tensor& weight_scales, const std::optional<at::Tensor>& bias);

}  // namespace fathom::ops
