#pragma once

#include <memory>

#include "fixtures/machine/device.h"
#include "fixtures/machine/precision.h"
#include "ops/core/backend.h"
#include "ops/core/kernel.h"
#include "ops/core/problem.h"

namespace fathom::ops {

/// Whether a backend's code runs on a device of this machine, in this build and precision.
bool is_here(Backend backend, fixtures::Device device,
             fixtures::Precision precision = fixtures::Precision::kFp32);

/// Whether it is a vendor's library, which is given problems.
constexpr bool is_vendor(Backend backend) {
  return backend != Backend::kTorch && backend != Backend::kNative;
}

/// A vendor's way to solve `problem` at the current thread count, or on the GPU's current stream.
/// kTf32 alone lets factors of fp32 be rounded to TF32. Throws std::runtime_error, with the
/// library's words, where it has none.
std::unique_ptr<Kernel> vendor_kernel(Backend backend, const Problem& problem,
                                      fixtures::Precision precision);

}  // namespace fathom::ops
