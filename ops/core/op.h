#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/machine/device.h"
#include "fixtures/machine/precision.h"
#include "ops/core/backend.h"
#include "ops/core/cost.h"
#include "ops/core/fields.h"
#include "ops/core/op_class.h"
#include "ops/core/pass.h"
#include "ops/core/problem.h"

namespace c10 {
struct IValue;  // its header would slow down the compilation of every file
}

namespace fathom::ops {

/// Inputs or outputs of one call, in an order that the op documents.
using Tensors = c10::SmallVector<at::Tensor, 4>;

/// One call of an op. It holds its inputs and returns its outputs.
using Call = std::function<Tensors()>;

/// One op type at one shape and pass.
class Op {
 public:
  virtual ~Op() = default;
  virtual Cost cost(fixtures::Precision precision) const = 0;
  /// The same for a device where LibTorch moves other tensors than on the CPU.
  virtual Cost cost_on(fixtures::Device /*device*/, fixtures::Precision precision) const {
    return cost(precision);
  }
  /// Bytes of the inputs that a call never reads (unselected table rows).
  virtual double untouched_bytes(fixtures::Precision /*precision*/) const { return 0; }
  /// New tensors on the CPU with statistics as in a model: fp32, or int64 for indices.
  virtual Tensors inputs(uint64_t seed) const = 0;
  /// The op in LibTorch over `inputs`, on any device and in any floating type. backend:torch times
  /// it; on float64 it is the reference. The op must outlive the call.
  virtual Call call(const Tensors& inputs) const = 0;
  /// The op in this project's kernels over the same inputs; null where there are none.
  virtual Call native(const Tensors& /*inputs*/) const { return nullptr; }
  /// Whether these kernels exist for the device. Elsewhere native() runs LibTorch's.
  virtual bool native_on(fixtures::Device /*device*/) const { return true; }
  /// The backend that the workloads' steps run.
  virtual Backend backend_in_steps(fixtures::Device /*device*/) const { return Backend::kTorch; }
  /// Whether a call runs on the CPU even in a step on a GPU.
  virtual bool on_cpu_only() const { return false; }
  /// Whether a call writes into its inputs, like optimizer updates.
  virtual bool in_place() const { return false; }
  /// Factor on the tolerance for ops that round several times.
  virtual double tolerance_factor(fixtures::Precision /*precision*/) const { return 1; }
  /// The precision of its rows, where that follows from the shape's format; else any.
  virtual std::optional<fixtures::Precision> only_precision() const { return {}; }
  /// The kernel of a backend that is no vendor's library, where the type has several; "" otherwise.
  virtual std::string kernel(Backend /*backend*/) const { return {}; }
  /// How far quantising moves the result: the root mean square of its error, relative to that of
  /// the unquantised result. None for ops without quantised inputs.
  virtual std::optional<double> quantization_error(uint64_t /*seed*/) const { return {}; }
  /// The outputs of call() on float64, on the CPU.
  Tensors exact(const Tensors& inputs) const;
  /// Throws std::runtime_error where `outputs`, those of the first call over `inputs`, are wrong:
  /// by default where they differ from `reference`, exact(inputs), by more than rounding times
  /// tolerance_factor().
  virtual void check(const Tensors& inputs, const Tensors& outputs, fixtures::Precision precision,
                     const Call& reference) const;
  void check(const Tensors& inputs, const Tensors& outputs, fixtures::Precision precision) const {
    check(inputs, outputs, precision, [&] { return exact(inputs); });
  }
  /// The backends that can run the op.
  virtual std::vector<Backend> backends() const { return {Backend::kTorch}; }
  /// What a vendor's library computes from `inputs` into `outputs`, for the vendors among
  /// backends(). `outputs` are contiguous and shaped as call() returns them. Both stay alive.
  virtual Problem problem(const Tensors& /*inputs*/, const Tensors& /*outputs*/) const {
    throw std::logic_error("no vendor's library runs this op");
  }
};

/// A call that a workload's step made: LibTorch's op ("aten::mm") or a profiling scope
/// ("op:lstm_cell"), with its arguments.
struct ObservedCall {
  std::string_view name;
  c10::ArrayRef<const c10::IValue> arguments;
  bool backward = false;           ///< inside a node of the backward pass
  std::string_view overload = {};  ///< "out" of aten::mm.out
};

/// The operator of a call of LibTorch's as "mm" or "mm.out".
inline std::string operator_name(const ObservedCall& call) {
  std::string name(call.name.substr(call.name.rfind(':') + 1));
  if (!call.overload.empty()) name.append(".").append(call.overload);
  return name;
}

/// An op that a call was matched to: its pass and its shape.
struct MatchedOp {
  Pass pass;
  FieldRow fields;
};

/// The record of an op type. It is defined in one place, the type's own .cc:
///
///     /// Softmax over the second dimension of x: {x} gives {y}.
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
/// table.cc lists it. Nothing else is needed for rows of shapes files, profiles, FLOPs of steps,
/// --fathom_ops, and the tests of results, costs, gradients and matches.
struct OpType {
  std::string_view name;
  OpClass op_class;
  /// LibTorch's ops that match() turns into rows, without "aten::". This project's kernels and
  /// composites run in a profiling scope "op:<name>", which is matched, too.
  std::vector<std::string_view> aten = {};
  /// Whether autograd composes the gradient of each of `aten` of several ops. Like those of a
  /// scope, they are one gradient of the same shape.
  bool composed_gradient = false;
  /// LibTorch's ops that profiles count as this type but that have no rows: parts of larger ops.
  std::vector<std::string_view> aten_parts = {};
  std::vector<Pass> passes;
  /// Small shapes, written as in a shapes file. --fathom_ops shows the first; the tests run all of
  /// them. Include extents of 1, primes, strides and other edge cases.
  std::vector<std::string_view> examples;
  std::function<void(Fields& fields)> fields;
  std::function<std::unique_ptr<Op>(Fields& fields, Pass pass)> make;
  /// The ops of a call to one of `aten` or of the scope. Returns nothing where the call is not of
  /// this type, such as a clamp that is not a ReLU.
  std::function<std::vector<MatchedOp>(const ObservedCall& call)> match;
};

/// `shape` after `fields` has visited it.
template <typename Shape>
Shape read_shape(Fields& fields, Shape shape = {}) {
  shape.visit(fields);
  return shape;
}

/// OpType::fields for a shape.
template <typename Shape>
void fields_of(Fields& fields) {
  read_shape<Shape>(fields);
}

/// OpType::make for an op that is constructed from a shape and a pass.
template <typename ShapedOp, typename Shape>
std::unique_ptr<Op> make_op(Fields& fields, Pass pass) {
  return std::make_unique<ShapedOp>(read_shape<Shape>(fields), pass);
}

/// OpType::make for an op of a family, which is constructed from its row of the family's table, a
/// shape and a pass. `shape` is the shape before its fields are read.
template <typename FamilyOp, typename Row, typename Shape>
auto make_member(const Row& row, const Shape& shape) {
  return [&row, shape](Fields& fields, Pass pass) -> std::unique_ptr<Op> {
    return std::make_unique<FamilyOp>(row, read_shape(fields, shape), pass);
  };
}

template <typename Shape>
MatchedOp matched(Pass pass, Shape shape) {
  return {pass, written(std::move(shape))};
}

/// Whether LibTorch's name of a call is that of a gradient, such as "aten::sigmoid_backward" or
/// "aten::_softmax_backward_data".
inline bool is_gradient(const ObservedCall& call) {
  return call.name.find("_backward") != std::string_view::npos;
}

/// An op of the pass kBackward where is_gradient(call), otherwise of kForward.
template <typename Shape>
MatchedOp matched(const ObservedCall& call, Shape shape) {
  return matched(is_gradient(call) ? Pass::kBackward : Pass::kForward, std::move(shape));
}

}  // namespace fathom::ops
