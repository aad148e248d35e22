#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ops/core/kernel.h"
#include "ops/core/problem.h"

namespace fathom::ops::onednn {

/// Calls the oneDNN in `file` instead of the one that the program was built with. To be called
/// before any other function. Throws std::runtime_error with what `file` lacks.
void use(const std::string& file);

/// Version of the oneDNN that backend:onednn calls, which is not LibTorch's; empty in a build
/// without oneDNN. This and all below throw std::runtime_error where oneDNN does not load.
std::string version();

/// Whether oneDNN supports elements of this type on this CPU (on x86, bf16 from AVX-512 on, fp16
/// with AVX512-FP16); false without oneDNN.
bool has(Element element);

/// Whether oneDNN is new enough for the ops of a type that it can run, and has them with such
/// elements: no recurrent layers in fp16.
bool has(std::string_view op_type, Element element);

/// oneDNN's kernel for `problem` on the CPU, at the current thread count and in the layouts that it
/// prefers. Throws NotSupported where oneDNN does not support the problem on this machine,
/// std::runtime_error for other errors. Null in a build without oneDNN.
std::unique_ptr<Kernel> kernel(const Problem& problem);

/// The functions of libfathom_onednn.so, which calls a oneDNN that is loaded before it. One
/// compiler builds both, so C++ objects and exceptions pass between them.
struct Library {
  bool (*has)(Element element);
  std::unique_ptr<Kernel> (*kernel)(const Problem& problem);
};

}  // namespace fathom::ops::onednn

/// The only exported symbol of the library.
extern "C" __attribute__((visibility("default"))) const fathom::ops::onednn::Library*
fathom_onednn_library();
