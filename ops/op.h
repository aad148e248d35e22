#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <memory>
#include <string_view>
#include <vector>

#include "fixtures/precision.h"
#include "ops/backend.h"
#include "ops/cost.h"
#include "ops/fields.h"
#include "ops/kernel.h"

namespace fathom::ops {

/// Inputs or outputs of one call, in an order that the op documents.
using Tensors = c10::SmallVector<at::Tensor, 4>;

/// One op type at one shape.
class Op {
 public:
  virtual ~Op() = default;
  virtual Cost cost(fixtures::Precision precision) const = 0;
  /// Fresh fp32 tensors on the CPU, with the statistics that the op meets in a model.
  virtual Tensors inputs(uint64_t seed) const = 0;
  /// LibTorch's own way, for any device and dtype: what backend:torch times, and on float64 the
  /// reference.
  virtual Tensors run(const Tensors& inputs) const = 0;
  /// A vendor library's way over the same inputs on the CPU, writing into `outputs` (contiguous, as
  /// run() shapes them), at the current thread count. Null where `backend` has no such op.
  virtual std::unique_ptr<Kernel> kernel(Backend backend, fixtures::Precision precision,
                                         const Tensors& inputs, const Tensors& outputs) const = 0;
};

/// A kind of op, made from the fields of a shape row.
struct OpType {
  std::string_view name;
  std::vector<Backend> backends;
  std::unique_ptr<Op> (*make)(Fields& fields);
};

}  // namespace fathom::ops
