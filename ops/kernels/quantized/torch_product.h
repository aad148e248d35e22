#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string>

#include "ops/kernels/convolution_double_backward.h"
#include "ops/kernels/quantized/activations.h"
#include "ops/kernels/quantized/weight_codes.h"

namespace fathom::ops {

/// A layer with a prepared weight: of x.
using QuantizedProduct = std::function<at::Tensor(const at::Tensor& x)>;

/// LibTorch's kernel for a weight [N, K] and x [M, K] in fp32, which gives [M, N] in fp32. It
/// computes in bf16, where LibTorch has vector instructions. Null where it has none: llama.cpp's
/// formats.
QuantizedProduct torch_product(const WeightCodes& weight, const std::optional<at::Tensor>& bias);

/// LibTorch's kernel for a weight [N, K] in kInt8 and the codes of x [M, K] in uint8, or for both
/// in kFp8; the result is fp32.
QuantizedProduct torch_product(const WeightCodes& weight, const std::optional<at::Tensor>& bias,
                               const ActivationCodes& x);

/// The same for a filter, whose codes have its sizes, and the codes of images [N, C, H, W].
QuantizedProduct torch_convolution(const WeightCodes& weight, const std::optional<at::Tensor>& bias,
                                   const ActivationCodes& x, const ConvolutionOptions& how);

/// LibTorch's kernel for kInt8 and x in int8: the sums of the codes' products in int32.
QuantizedProduct torch_sums(const WeightCodes& weight);

/// Names of these kernels for labels; "" where there is none. `per_token`: that of torch_sums().
std::string torch_product_name(fixtures::Precision precision, bool per_token);
std::string torch_convolution_name();

/// The name of a kernel, with " 7-bit weights" where exact_weight_bits() says so.
std::string with_weight_bits(const std::string& kernel);

/// The bits that a weight's codes may have, so that LibTorch's and oneDNN's products of uint8 and
/// int8 are exact: 7 where the CPU adds two products in 16 bits, since it has no VNNI.
int exact_weight_bits();

}  // namespace fathom::ops
