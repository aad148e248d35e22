#pragma once

#include <memory>

#include "fixtures/machine/device.h"
#include "fixtures/machine/precision.h"
#include "ops/core/backend.h"
#include "ops/core/kernel.h"
#include "ops/core/problem.h"

namespace fathom::ops {

/// Whether a backend can run on `device`: in this build, on this CPU and in this precision. It can
/// on every GPU; whether there is one says fixtures::unavailable_reason().
bool is_here(Backend backend, fixtures::Device device,
             fixtures::Precision precision = fixtures::Precision::kFp32);

/// Whether a backend is a vendor's library, which solves a Problem.
constexpr bool is_vendor(Backend backend) {
  return backend != Backend::kTorch && backend != Backend::kNative;
}

/// A vendor's kernel for `problem`, at the current thread count or on the GPU's current stream.
/// Only kTf32 allows fp32 products to use TF32. Throws std::runtime_error with the library's
/// message where it does not support the problem.
std::unique_ptr<Kernel> vendor_kernel(Backend backend, const Problem& problem,
                                      fixtures::Precision precision);

}  // namespace fathom::ops
