#include "ops/types/matrix/matmul.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

#include "ops/core/buffer.h"
#include "ops/core/random_inputs.h"
#include "ops/types/table.h"

namespace fathom::ops {
namespace {

/// Inputs {A, B} or {A, B, bias}, stored as the shape says; outputs {C}.
class Matmul final : public Op {
 public:
  explicit Matmul(const MatmulShape& shape) : shape_(shape) {}

  Cost cost(fixtures::Precision precision) const override { return matmul_cost(shape_, precision); }

  Tensors inputs(uint64_t seed) const override {
    Draws draw(seed);
    const auto& [m, n, k, transpose_a, transpose_b, bias] = shape_;
    Tensors made;
    made.push_back(transpose_a ? draw.normal({k, m}) : draw.normal({m, k}));
    made.push_back(transpose_b ? draw.normal({n, k}) : draw.normal({k, n}));
    if (bias) made.push_back(draw.normal({n}));
    return made;
  }

  Call call(const Tensors& in) const override {
    const at::Tensor a = shape_.transpose_a ? in[0].t() : in[0];
    const at::Tensor b = shape_.transpose_b ? in[1].t() : in[1];
    if (!shape_.bias) return [=]() -> Tensors { return {at::mm(a, b)}; };
    return [=, bias = in[2]]() -> Tensors { return {at::addmm(bias, a, b)}; };
  }

  std::vector<Backend> backends() const override {
    return {Backend::kTorch, Backend::kOneDnn, Backend::kCublas};
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    MatmulProblem problem{.a = buffer(shape_.transpose_a ? in[0].t() : in[0]),
                          .b = buffer(shape_.transpose_b ? in[1].t() : in[1]),
                          .c = buffer(out[0])};
    if (shape_.bias) problem.addend = buffer(in[2]);
    return problem;
  }

 private:
  MatmulShape shape_;
};

bool is_transposed(const at::Tensor& matrix) { return matrix.stride(0) < matrix.stride(1); }

}  // namespace

Cost matmul_cost(const MatmulShape& shape, fixtures::Precision precision) {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  return {.flops = 2 * m * n * k,

          .bytes = element_bytes(precision) * (m * k + k * n + m * n + (shape.bias ? n : 0))};
}

std::unique_ptr<Op> make_matmul(Fields& fields, Pass /*pass*/) {
  return std::make_unique<Matmul>(MatmulShape{.m = fields.extent("m"),
                                              .n = fields.extent("n"),
                                              .k = fields.extent("k"),
                                              .transpose_a = fields.flag("transpose_a"),
                                              .transpose_b = fields.flag("transpose_b"),
                                              .bias = fields.flag("bias")});
}

std::vector<SeenOp> recognise_matmul(const Seen& seen) {
  const bool bias = seen.name == "aten::addmm";
  if (!bias && seen.name != "aten::mm") return {};
  const at::Tensor& a = seen.arguments[bias ? 1 : 0].toTensor();
  const at::Tensor& b = seen.arguments[bias ? 2 : 1].toTensor();
  // The gradients of a layer y = x · W are g · Wᵀ and xᵀ · g.
  const Pass pass = !seen.backward     ? Pass::kForward
                    : is_transposed(a) ? Pass::kWgrad
                                       : Pass::kDgrad;
  nlohmann::ordered_json fields{{"m", a.size(0)}, {"n", b.size(1)}, {"k", a.size(1)}};
  if (is_transposed(a)) fields["transpose_a"] = true;
  if (is_transposed(b)) fields["transpose_b"] = true;
  if (bias) fields["bias"] = true;
  return {{pass, fields}};
}

}  // namespace fathom::ops
