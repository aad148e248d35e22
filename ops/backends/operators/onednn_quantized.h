#pragma once

#include <optional>

#include "ops/kernels/quantized/torch_product.h"

namespace fathom::ops::onednn {

/// Receives the name of each kernel that a product makes: one for each shape of x.
using KernelNames = std::function<void(const std::string& implementation)>;

/// oneDNN's kernels for weights in kInt8, whose memory must outlive them: they reorder it once.
/// With `x`, those of the codes of x [M, K] in uint8, which give fp32; else those of x in int8,
/// which give the sums in int32.
QuantizedProduct quantized_product(const WeightCodes& weight, const std::optional<at::Tensor>& bias,
                                   const std::optional<ActivationCodes>& x,
                                   const KernelNames& names);

/// The same for a filter and the codes of images [N, C, H, W], which run with the channels last.
QuantizedProduct quantized_convolution(const WeightCodes& weight,
                                       const std::optional<at::Tensor>& bias,
                                       const ActivationCodes& x, const ConvolutionOptions& how,
                                       const KernelNames& names);

}  // namespace fathom::ops::onednn
