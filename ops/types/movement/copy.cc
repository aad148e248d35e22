#include <ATen/core/Tensor.h>

#include <string>

#include "ops/core/buffer.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

struct CopyShape {
  Sizes sizes;      ///< extents of the copy
  bool transposed;  ///< the last two dimensions of the source are transposed

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.flag("transposed", transposed);
    fields.require(!transposed || sizes.size() > 1,
                   "\"sizes\" has one extent, expected two or more for a \"transposed\" copy");
  }
};

struct TransposeShape {
  Sizes sizes;  ///< [rows, columns] of the source

  void visit(Fields& fields) {
    fields.sizes("sizes", sizes);
    fields.require(sizes.size() == 2, "\"sizes\" is not a matrix, expected two extents");
  }
};

Sizes exchanged(Sizes sizes) {
  std::swap(sizes.back(), sizes[sizes.size() - 2]);
  return sizes;
}

/// Inputs {x}, outputs {a contiguous copy, its last two dimensions exchanged where `transposed`}.
class Copy final : public Op {
 public:
  Copy(const CopyShape& shape, Pass /*pass*/)
      : stored_(shape.transposed ? exchanged(shape.sizes) : shape.sizes),
        transposed_(shape.transposed) {}
  Copy(TransposeShape shape, Pass /*pass*/) : stored_(std::move(shape.sizes)), transposed_(true) {}

  Cost cost(fixtures::Precision precision) const override {
    return {.flops = 0, .bytes = element_bytes(precision) * 2 * elements(stored_)};
  }

  Tensors inputs(uint64_t seed) const override { return {RandomInputs(seed).normal(stored_)}; }

  Call call(const Tensors& in) const override {
    return
        [source = source(in)]() -> Tensors { return {source.clone(at::MemoryFormat::Contiguous)}; };
  }

  std::vector<Backend> backends() const override { return {Backend::kTorch, Backend::kOneDnn}; }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    return CopyProblem{.x = buffer(source(in)), .y = buffer(out[0])};
  }

 private:
  at::Tensor source(const Tensors& in) const {
    return transposed_ ? in[0].transpose(-2, -1) : in[0];
  }

  Sizes stored_;
  bool transposed_;
};

/// Whether the last dimension is not the contiguous one.
bool is_transposed(const at::Tensor& x) {
  return x.dim() > 1 && x.size(-1) > 1 && x.size(-2) > 1 && x.stride(-2) != 0 &&
         x.stride(-2) < x.stride(-1);
}

/// copy_(to, from), clone(from), _to_copy(from, type, ...), contiguous(from). Returns nothing where
/// the call converts the type or repeats elements.
std::vector<MatchedOp> match_copy(const ObservedCall& call) {
  const bool has_target = call.name == "aten::copy_" || call.name == "aten::copy";
  const c10::IValue& from = call.arguments[has_target ? 1 : 0];
  if (!is_plain(from) || !is_plain(call.arguments[0])) return {};
  const at::Tensor& source = from.toTensor();
  const at::Tensor& target = call.arguments[0].toTensor();
  if (source.scalar_type() != target.scalar_type() || source.sizes() != target.sizes()) return {};
  if (call.name == "aten::contiguous" && source.is_contiguous()) return {};  // returns its argument
  if (call.name == "aten::_to_copy" && call.arguments[1].isInt() &&
      call.arguments[1].toInt() != static_cast<int64_t>(source.scalar_type())) {
    return {};
  }
  // clone and _to_copy keep the layout of a dense source; only contiguous() and copy_ transpose it.
  const bool transposes = has_target ? is_transposed(source) != is_transposed(target)
                                     : call.name == "aten::contiguous" && is_transposed(source);
  const bool contiguous_clone =
      call.name == "aten::clone" && call.arguments.size() > 1 && call.arguments[1].isInt() &&
      call.arguments[1].toInt() == static_cast<int64_t>(at::MemoryFormat::Contiguous);
  const bool transposed = transposes || (contiguous_clone && is_transposed(source));
  return {
      matched(Pass::kForward, CopyShape{.sizes = tensor_sizes(source), .transposed = transposed})};
}

}  // namespace

OpType copy_type() {
  return {.name = "copy",
          .op_class = OpClass::kMovement,
          .aten = {"copy", "copy_", "clone", "_to_copy", "contiguous"},
          .passes = {Pass::kForward},
          .examples = {R"({"sizes": [5, 3]})", R"({"sizes": [2, 5, 3], "transposed": true})"},
          .fields = fields_of<CopyShape>,
          .make = make_op<Copy, CopyShape>,
          .match = match_copy};
}

OpType transpose_type() {
  return {.name = "transpose",
          .op_class = OpClass::kMovement,
          .passes = {Pass::kForward},
          .examples = {R"({"sizes": [5, 3]})"},
          .fields = fields_of<TransposeShape>,
          .make = make_op<Copy, TransposeShape>,
          // LibTorch transposes matrices only while copying, which is matched as copy.
          .match = [](const ObservedCall& /*call*/) { return std::vector<MatchedOp>{}; }};
}

}  // namespace fathom::ops
