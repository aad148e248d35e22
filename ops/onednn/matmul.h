#pragma once

#include <memory>

#include "fixtures/precision.h"
#include "ops/kernel.h"
#include "ops/matmul.h"

namespace fathom::ops::onednn {

/// oneDNN's matmul over plain row-major buffers of the precision's type, stored as the shape says.
/// Both factors are brought into the layout that the primitive prefers here, outside the timed
/// call. `bias` may be null. Null where the program was built without oneDNN.
std::unique_ptr<Kernel> matmul(const MatmulShape& shape, fixtures::Precision precision,
                               const void* a, const void* b, const void* bias, void* c);

}  // namespace fathom::ops::onednn
