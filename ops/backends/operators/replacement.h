#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <vector>

#include "ops/backends/operators/call_key.h"
#include "ops/core/backend.h"

namespace fathom::ops {

/// The results of a call, in its schema's order. One that is not wanted is undefined.
using Results = std::vector<at::Tensor>;

/// What a kernel keeps from one call for those with the same key. Null before the first one.
struct Kept {
  virtual ~Kept() = default;
};
using KeptPointer = std::unique_ptr<Kept>;

/// Runs a call. Nothing where there is no kernel for it.
using Attempt = std::optional<Results> (*)(Arguments in, KeptPointer& kept);

/// A kernel in place of LibTorch's on the CPU.
struct Replacement {
  const char* op;  ///< the operator without "aten::", as "mm" or "mm.out"
  Attempt run;
  /// Of a gradient: the operator of the forward pass whose results only a gradient of the same
  /// backend can read. Null: there is none.
  const char* forward = nullptr;
  const char* backend = "";  ///< whose kernel it is, as "onednn"
  /// Whether a call must run on one of the replacements that claim it. Null: it claims none.
  bool (*claims)(Arguments in) = nullptr;
};

namespace onednn {
/// oneDNN's, called directly.
std::vector<Replacement> operators();
}  // namespace onednn

/// This project's: products of few rows, such as a language model's decoding runs, and attention of
/// one query.
std::vector<Replacement> native_operators();

/// The kernels of kTorch, kNative or kOneDnn for the QuantizedLayers of this process, which claim
/// their calls.
std::vector<Replacement> quantized_operators(Backend backend);

}  // namespace fathom::ops
