#pragma once

#include <memory>
#include <string>

#include "ops/core/kernel.h"
#include "ops/core/problem.h"

namespace fathom::ops::onednn {

/// Version of the oneDNN that backend:onednn calls, not of LibTorch's own; empty where built
/// without.
std::string version();

/// Whether it computes in bf16 on this CPU (on x86 from AVX-512 on); false where built without.
bool has_bf16();

/// oneDNN's way on the CPU at the current thread count, in the layouts that it prefers. Throws
/// std::runtime_error where oneDNN has none for this machine; null where built without oneDNN.
std::unique_ptr<Kernel> kernel(const Problem& problem);

}  // namespace fathom::ops::onednn
