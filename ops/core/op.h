#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "fixtures/machine/precision.h"
#include "ops/core/backend.h"
#include "ops/core/cost.h"
#include "ops/core/fields.h"
#include "ops/core/pass.h"
#include "ops/core/problem.h"

namespace fathom::ops {

/// Inputs or outputs of one call, in an order that the op documents.
using Tensors = c10::SmallVector<at::Tensor, 4>;

/// One call, over inputs that it holds; gives its outputs.
using Call = std::function<Tensors()>;

/// One op type at one shape and pass.
class Op {
 public:
  virtual ~Op() = default;
  virtual Cost cost(fixtures::Precision precision) const = 0;
  /// Of its inputs what no call touches, in bytes, as most of a table in which it looks up a few
  /// rows.
  virtual double untouched_bytes(fixtures::Precision /*precision*/) const { return 0; }
  /// Fresh tensors on the CPU with the statistics that the op meets in a model: fp32, and int64
  /// where they are indices.
  virtual Tensors inputs(uint64_t seed) const = 0;
  /// LibTorch's own way over `inputs`, for any device and floating type: what backend:torch times,
  /// and on float64 the reference. The op outlives the call.
  virtual Call call(const Tensors& inputs) const = 0;
  /// Our own kernels over the same inputs; null where LibTorch's way is the only one.
  virtual Call native(const Tensors& /*inputs*/) const { return nullptr; }
  /// Whether it is native() that the workloads' steps run.
  virtual bool native_in_steps() const { return false; }
  /// Whether a call writes into its inputs, as updates do.
  virtual bool in_place() const { return false; }
  /// How many times the rounding of one result the rounding of its own steps may be.
  virtual double slack(fixtures::Precision /*precision*/) const { return 1; }
  /// What call() gives on float64.
  Tensors exact(const Tensors& inputs) const;
  /// Throws std::runtime_error where `outputs` are not those of the first call over `inputs`: by
  /// default where they differ from `reference`, exact(inputs), by more than rounding times
  /// slack().
  virtual void check(const Tensors& inputs, const Tensors& outputs, fixtures::Precision precision,
                     const Call& reference) const;
  void check(const Tensors& inputs, const Tensors& outputs, fixtures::Precision precision) const {
    check(inputs, outputs, precision, [&] { return exact(inputs); });
  }
  /// Whose code can run it.
  virtual std::vector<Backend> backends() const { return {Backend::kTorch}; }
  /// What a vendor's library is asked to compute of `inputs` into `outputs` (contiguous, as call()
  /// shapes them), which stay alive; for the backends() that are vendors' only.
  virtual Problem problem(const Tensors& /*inputs*/, const Tensors& /*outputs*/) const {
    throw std::logic_error("no vendor's library runs this op");
  }
};

/// What a workload's step was seen to call: LibTorch's op ("aten::mm") or a scope ("op:lstm_cell")
/// with its arguments.
struct Seen {
  std::string_view name;
  c10::ArrayRef<const c10::IValue> arguments;
  bool backward = false;  ///< inside a node of the backward pass
};

/// An op to measure: its pass and the fields of its shape row.
struct SeenOp {
  Pass pass;
  nlohmann::ordered_json fields;
};

/// A kind of op (kinds.h), made from the fields of a shape row.
struct OpType {
  std::string_view name;
  std::vector<Pass> passes;
  std::function<std::unique_ptr<Op>(Fields& fields, Pass pass)> make;
  /// What was seen as shape rows; none for calls that this type does not measure.
  std::function<std::vector<SeenOp>(const Seen& seen)> recognise;
};

}  // namespace fathom::ops
