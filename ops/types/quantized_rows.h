#pragma once

#include <vector>

#include "fixtures/machine/device.h"
#include "fixtures/machine/precision.h"
#include "ops/types/shapes.h"

namespace fathom::ops {

/// The ops that an inference step of a network runs in a quantised precision instead of the linear
/// layers and convolutions among `rows`, which are those of its step in fp32. A network without
/// convolutions is taken for one of language: in int8 it has a scale for each token. Networks with
/// convolutions have int8 on the CPU alone. Empty where nothing is quantised.
std::vector<ShapeRow> quantized_rows(const std::vector<ShapeRow>& rows, fixtures::Device device,
                                     fixtures::Precision precision);

}  // namespace fathom::ops
