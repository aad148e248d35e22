#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "fixtures/machine/precision.h"
#include "ops/core/random_inputs.h"
#include "ops/kernels/quantized/activations.h"
#include "ops/kernels/quantized/weight_codes.h"

namespace fathom::ops {

/// The values of the field "format": the names of the quantised precisions.
inline constexpr auto kWeightFormats =
    std::span(fixtures::kPrecisionNames)
        .subspan(static_cast<std::size_t>(fixtures::Precision::kInt8));

/// Those of activations, and of images and tokens.
inline constexpr auto kActivationFormats = kWeightFormats.first(2);
inline constexpr auto kInt8Formats = kWeightFormats.first(1);

/// The precision of such a value.
fixtures::Precision format_precision(std::string_view format);

/// Of the activations that a quantised op draws: their codes lie around a zero that is not in the
/// middle of the range.
inline constexpr ActivationCodes kDrawnCodes{.scale = 1.0 / 32, .zero = 119};

/// Random weights [n, k] in a precision's format, in bits with which sums are exact here. The first
/// outputs have all codes at one end of the range, where sums in 16 bits saturate. Codes of kFp8
/// are bytes.
WeightCodes drawn_weight(RandomInputs& draws, int64_t n, int64_t k, fixtures::Precision precision);

/// The same for activations in e4m3.
inline constexpr ActivationCodes kDrawnFp8{.scale = 1.0 / 64, .zero = 0};

/// Activations [rows, ...] in uint8, or in the bytes of e4m3. Half of the first row are the largest
/// code.
at::Tensor drawn_activations(RandomInputs& draws, at::IntArrayRef sizes,
                             fixtures::Precision precision);

/// Real numbers of their codes, in the type of `like`.
at::Tensor real(const at::Tensor& codes, const at::Tensor& like, fixtures::Precision precision);

/// Codes in e4m3 of their bytes: only whole numbers keep their type where inputs are converted.
inline at::Tensor as_fp8(const at::Tensor& bytes) { return bytes.view(at::kFloat8_e4m3fn); }
inline at::Tensor as_bytes(const at::Tensor& fp8) { return fp8.view(at::kByte); }

}  // namespace fathom::ops
