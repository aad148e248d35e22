#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>

#include "ops/core/buffer.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"

namespace fathom::ops {
namespace {

/// C [batch, m, n] = A [batch, m, k] · B [batch, k, n] (+ D [batch, m, n]). A transposed factor is
/// stored as [batch, k, m] or [batch, n, k].
struct BatchedMatmulShape {
  int64_t batch;
  int64_t m;
  int64_t n;
  int64_t k;
  bool transpose_a;
  bool transpose_b;
  bool addend;

  void visit(Fields& fields) {
    fields.extent("batch", batch);
    fields.extent("m", m);
    fields.extent("n", n);
    fields.extent("k", k);
    fields.flag("transpose_a", transpose_a);
    fields.flag("transpose_b", transpose_b);
    fields.flag("addend", addend);
  }
};

/// Inputs {A, B} or {A, B, D}, stored as the shape says; outputs {C}.
class BatchedMatmul final : public Op {
 public:
  BatchedMatmul(const BatchedMatmulShape& shape, Pass /*pass*/) : shape_(shape) {}

  Cost cost(fixtures::Precision precision) const override {
    const auto& [batch, m, n, k, transpose_a, transpose_b, addend] = shape_;
    const double product = elements({batch, m, n});
    return {.flops = 2 * product * static_cast<double>(k),
            .bytes = element_bytes(precision) * (elements({batch, m, k}) + elements({batch, k, n}) +
                                                 (addend ? 2 : 1) * product),
            .macs = product * static_cast<double>(k)};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draw(seed);
    const auto& [batch, m, n, k, transpose_a, transpose_b, addend] = shape_;
    Tensors made;
    made.push_back(transpose_a ? draw.normal({batch, k, m}) : draw.normal({batch, m, k}));
    made.push_back(transpose_b ? draw.normal({batch, n, k}) : draw.normal({batch, k, n}));
    if (addend) made.push_back(draw.normal({batch, m, n}));
    return made;
  }

  Call call(const Tensors& in) const override {
    const at::Tensor a = shape_.transpose_a ? in[0].transpose(1, 2) : in[0];
    const at::Tensor b = shape_.transpose_b ? in[1].transpose(1, 2) : in[1];
    if (!shape_.addend) return [=]() -> Tensors { return {at::bmm(a, b)}; };
    return [=, d = in[2]]() -> Tensors { return {at::baddbmm(d, a, b)}; };
  }

  std::vector<Backend> backends() const override {
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCublas};
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    MatmulProblem problem{.a = buffer(shape_.transpose_a ? in[0].transpose(1, 2) : in[0]),
                          .b = buffer(shape_.transpose_b ? in[1].transpose(1, 2) : in[1]),
                          .c = buffer(out[0])};
    if (shape_.addend) problem.addend = buffer(in[2]);
    return problem;
  }

 private:
  BatchedMatmulShape shape_;
};

bool is_transposed(const at::Tensor& matrices) {
  return matrices.size(1) > 1 && matrices.size(2) > 1 && matrices.stride(1) < matrices.stride(2);
}

/// Products in a backward pass look like those in a forward pass, so all are matched as forward.
std::vector<MatchedOp> match_batched_matmul(const ObservedCall& call) {
  const bool addend = call.name != "aten::bmm";
  const c10::IValue& first = call.arguments[addend ? 1 : 0];
  const c10::IValue& second = call.arguments[addend ? 2 : 1];
  if (!is_plain(first) || !is_plain(second)) return {};
  const at::Tensor& a = first.toTensor();
  const at::Tensor& b = second.toTensor();
  return {matched(Pass::kForward, BatchedMatmulShape{.batch = a.size(0),
                                                     .m = a.size(1),
                                                     .n = b.size(2),
                                                     .k = a.size(2),
                                                     .transpose_a = is_transposed(a),
                                                     .transpose_b = is_transposed(b),
                                                     .addend = addend})};
}

}  // namespace

OpType batched_matmul_type() {
  return {
      .name = "batched_matmul",
      .op_class = OpClass::kMatrix,
      .aten = {"bmm", "baddbmm", "baddbmm_"},
      .passes = {Pass::kForward},
      .examples = {R"({"batch": 3, "m": 5, "n": 7, "k": 11})",
                   R"({"batch": 2, "m": 5, "n": 1, "k": 3, "transpose_a": true})",
                   R"({"batch": 1, "m": 13, "n": 4, "k": 1, "transpose_b": true, "addend": true})"},
      .fields = fields_of<BatchedMatmulShape>,
      .make = make_op<BatchedMatmul, BatchedMatmulShape>,
      .match = match_batched_matmul};
}

}  // namespace fathom::ops
