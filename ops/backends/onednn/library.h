#pragma once

#include <memory>
#include <string>

#include "ops/core/kernel.h"
#include "ops/core/problem.h"

namespace fathom::ops::onednn {

/// Version of the oneDNN that backend:onednn calls, which is not LibTorch's; empty in a build
/// without oneDNN.
std::string version();

/// Whether oneDNN supports bf16 on this CPU (on x86 from AVX-512 on); false without oneDNN.
bool has_bf16();

/// oneDNN's kernel for `problem` on the CPU, at the current thread count and in the layouts that it
/// prefers. Throws NotSupported where oneDNN does not support the problem on this machine,
/// std::runtime_error for other errors. Null in a build without oneDNN.
std::unique_ptr<Kernel> kernel(const Problem& problem);

}  // namespace fathom::ops::onednn
