#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>

#include "ops/core/buffer.h"
#include "ops/core/random_inputs.h"
#include "ops/core/tensor_sizes.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

/// C [batch, m, n] = A [batch, m, k] · B [batch, k, n] (+ D [batch, m, n]). A transposed factor is
/// stored as [batch, k, m] or [batch, n, k].
struct Shape {
  int64_t batch;
  int64_t m;
  int64_t n;
  int64_t k;
  bool transpose_a;
  bool transpose_b;
  bool addend;
};

/// Inputs {A, B} or {A, B, D}, stored as the shape says; outputs {C}.
class BatchedMatmul final : public Op {
 public:
  explicit BatchedMatmul(const Shape& shape) : shape_(shape) {}

  Cost cost(fixtures::Precision precision) const override {
    const auto& [batch, m, n, k, transpose_a, transpose_b, addend] = shape_;
    const double product = elements({batch, m, n});
    return {.flops = 2 * product * static_cast<double>(k),
            .bytes = element_bytes(precision) * (elements({batch, m, k}) + elements({batch, k, n}) +
                                                 (addend ? 2 : 1) * product)};
  }

  Tensors inputs(uint64_t seed) const override {
    Draws draw(seed);
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
  Shape shape_;
};

bool is_transposed(const at::Tensor& matrices) {
  return matrices.size(1) > 1 && matrices.size(2) > 1 && matrices.stride(1) < matrices.stride(2);
}

}  // namespace

std::unique_ptr<Op> make_batched_matmul(Fields& fields, Pass /*pass*/) {
  return std::make_unique<BatchedMatmul>(Shape{.batch = fields.extent("batch"),
                                               .m = fields.extent("m"),
                                               .n = fields.extent("n"),
                                               .k = fields.extent("k"),
                                               .transpose_a = fields.flag("transpose_a"),
                                               .transpose_b = fields.flag("transpose_b"),
                                               .addend = fields.flag("addend")});
}

/// A product in a backward pass looks like one in a forward pass: all are called that.
std::vector<SeenOp> recognise_batched_matmul(const Seen& seen) {
  const bool addend = seen.name == "aten::baddbmm";
  if (!addend && seen.name != "aten::bmm") return {};
  const c10::IValue& first = seen.arguments[addend ? 1 : 0];
  const c10::IValue& second = seen.arguments[addend ? 2 : 1];
  if (!is_plain(first) || !is_plain(second)) return {};
  const at::Tensor& a = first.toTensor();
  const at::Tensor& b = second.toTensor();
  nlohmann::ordered_json fields{
      {"batch", a.size(0)}, {"m", a.size(1)}, {"n", b.size(2)}, {"k", a.size(2)}};
  if (is_transposed(a)) fields["transpose_a"] = true;
  if (is_transposed(b)) fields["transpose_b"] = true;
  if (addend) fields["addend"] = true;
  return {{Pass::kForward, fields}};
}

}  // namespace fathom::ops
