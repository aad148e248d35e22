#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "fixtures/machine/precision.h"
#include "ops/core/backend.h"
#include "ops/core/cost.h"
#include "ops/core/fields.h"
#include "ops/core/op_class.h"
#include "ops/core/pass.h"
#include "ops/core/problem.h"

namespace c10 {
struct IValue;  // whose header every file would pay for
}

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
  /// Bytes of the inputs that a call never reads, as the rows of a table that it does not look up.
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
  /// Factor on the tolerance for ops that round several times.
  virtual double tolerance_factor(fixtures::Precision /*precision*/) const { return 1; }
  /// What call() gives on float64.
  Tensors exact(const Tensors& inputs) const;
  /// Throws std::runtime_error where `outputs` are not those of the first call over `inputs`: by
  /// default where they differ from `reference`, exact(inputs), by more than rounding times
  /// tolerance_factor().
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

/// A call that a workload's step made: LibTorch's op ("aten::mm") or a profiling scope
/// ("op:lstm_cell"), with its arguments.
struct ObservedCall {
  std::string_view name;
  c10::ArrayRef<const c10::IValue> arguments;
  bool backward = false;  ///< inside a node of the backward pass
};

/// An op that a call was matched to: its pass and its shape.
struct MatchedOp {
  Pass pass;
  FieldRow fields;
};

/// The record of an op type. It has one home, the type's own .cc:
///
///     /// Over the second extent of x: {x} gives {y}.
///     struct SoftmaxShape {
///       Sizes sizes;
///       void visit(Fields& fields) { fields.sizes("sizes", sizes); }  // the only list of fields
///     };
///
///     class Softmax final : public Op {
///      public:
///       Softmax(SoftmaxShape shape, Pass pass);  // and cost(), inputs(), call(), ...
///     };
///
///     std::vector<MatchedOp> match_softmax(const ObservedCall& call) {
///       const at::Tensor& x = call.arguments[0].toTensor();
///       return {matched(Pass::kForward, SoftmaxShape{tensor_sizes(x)})};
///     }
///
///     OpType softmax_type() {
///       return {.name = "softmax",
///               .op_class = OpClass::kReduction,
///               .aten = {"softmax", "_softmax"},
///               .passes = {Pass::kForward},
///               .examples = {R"({"sizes": [3, 7]})"},
///               .fields = fields_of<SoftmaxShape>,
///               .make = make_op<Softmax, SoftmaxShape>,
///               .match = match_softmax};
///     }
///
/// table.cc lists it. Rows of shapes files, profiles, FLOPs of steps, --fathom_ops and the tests of
/// its results, costs, gradients and matches follow.
struct OpType {
  std::string_view name;
  OpClass op_class;
  /// LibTorch's ops, without "aten::", that match() turns into rows. Our own code and composites
  /// run under a profiling scope "op:<name>", which is matched, too.
  std::vector<std::string_view> aten = {};
  /// LibTorch's ops that profiles count as this type and that have no rows: inner parts of others.
  std::vector<std::string_view> aten_parts = {};
  std::vector<Pass> passes;
  /// Small shapes, as rows of a shapes file have them: --fathom_ops shows the first, the tests run
  /// all of them. Extents of 1, primes, strides and other awkward ones belong here.
  std::vector<std::string_view> examples;
  std::function<void(Fields& fields)> fields;
  std::function<std::unique_ptr<Op>(Fields& fields, Pass pass)> make;
  /// The ops of a call to one of `aten` or of the scope; none for calls that are no ops of this
  /// type, as a clamp that is no ReLU.
  std::function<std::vector<MatchedOp>(const ObservedCall& call)> match;
};

/// `shape` with the fields that `fields` has for it.
template <typename Shape>
Shape read_shape(Fields& fields, Shape shape = {}) {
  shape.visit(fields);
  return shape;
}

/// OpType::fields of a shape.
template <typename Shape>
void fields_of(Fields& fields) {
  read_shape<Shape>(fields);
}

/// OpType::make of an op that is made from a shape and a pass.
template <typename ShapedOp, typename Shape>
std::unique_ptr<Op> make_op(Fields& fields, Pass pass) {
  return std::make_unique<ShapedOp>(read_shape<Shape>(fields), pass);
}

template <typename Shape>
MatchedOp matched(Pass pass, Shape shape) {
  return {pass, written(std::move(shape))};
}

}  // namespace fathom::ops
