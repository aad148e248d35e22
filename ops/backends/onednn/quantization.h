#pragma once

#include "ops/backends/onednn/primitive.h"

namespace fathom::ops::onednn {

/// The attributes of a primitive over codes, and the memory of its scales and zeros.
struct Quantization {
  /// `channels`: the mask of the weights' dimensions that have a scale each.
  Quantization(const QuantizationProblem& problem, int channels);

  dnnl::primitive_attr attributes;
  Primitive::Memories memories;
};

}  // namespace fathom::ops::onednn
