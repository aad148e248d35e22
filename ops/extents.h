#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <vector>

#include "fixtures/precision.h"

namespace fathom::ops {

/// Elements of a tensor, as floating point: products of mistyped extents must not wrap around.
double elements(at::IntArrayRef sizes);

/// Of the type that `precision` keeps tensors in.
double element_bytes(fixtures::Precision precision);

/// Whether an argument is a tensor that rows can describe: dense, of floating type, not empty.
bool is_plain(const c10::IValue& argument);

/// A seen tensor's extents as rows list them: a scalar has [1].
std::vector<int64_t> extents(const at::Tensor& tensor);
std::vector<std::vector<int64_t>> extents(const std::vector<at::Tensor>& tensors);

/// Draws inputs in fp32 on the CPU.
class Draw {
 public:
  explicit Draw(uint64_t seed);
  at::Tensor normal(at::IntArrayRef sizes, double mean = 0, double deviation = 1);
  at::Tensor uniform(at::IntArrayRef sizes, double low, double high);

 private:
  at::Generator generator_;
};

}  // namespace fathom::ops
