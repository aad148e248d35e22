#pragma once

#include <memory>
#include <string>

#include "fixtures/machine/device.h"
#include "fixtures/machine/precision.h"
#include "ops/core/backend.h"
#include "ops/core/kernel.h"
#include "ops/core/op.h"
#include "ops/core/problem.h"

namespace fathom::ops {

/// Whether a backend has rows on `device` in this precision. oneDNN has where this build and this
/// CPU support it, LibTorch's on packed weights where this LibTorch and this CPU do. cuBLAS and
/// cuDNN have on every GPU; fixtures::unavailable_reason() says whether this machine has one.
bool is_here(Backend backend, fixtures::Device device,
             fixtures::Precision precision = fixtures::Precision::kFp32);

/// The same for the ops of a type, for which the vendor's library may be too old.
bool is_here(Backend backend, const OpType& type, fixtures::Device device,
             fixtures::Precision precision);

/// Whether a backend is a vendor's library, which solves a Problem: LibTorch's oneDNN is, too.
constexpr bool is_vendor(Backend backend) {
  return backend == Backend::kOneDnn || backend == Backend::kCublas || backend == Backend::kCudnn ||
         backend == Backend::kTorchPacked;
}

/// A vendor's kernel for `problem`, at the current thread count or on the GPU's current stream.
/// Only kTf32 allows fp32 products to use TF32. Throws NotSupported where the library does not
/// support the problem, std::runtime_error for other errors.
std::unique_ptr<Kernel> vendor_kernel(Backend backend, const Problem& problem,
                                      fixtures::Precision precision);

struct VendorResults {
  Tensors outputs;
  std::string implementation;  ///< Kernel::implementation()
};

/// Runs a vendor's kernel of `op` three times over the same buffers: a run must not depend on what
/// they held before. Throws as vendor_kernel() does.
VendorResults vendor_results(Backend backend, const Op& op, const Tensors& inputs,
                             fixtures::Precision precision);

}  // namespace fathom::ops
