#include <ATen/core/ivalue.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

#include "ops/core/buffer.h"
#include "ops/core/op.h"
#include "ops/core/random_inputs.h"
#include "ops/kernels/skinny_linear.h"

namespace fathom::ops {
namespace {

/// C [m, n] = A [m, k] · B [k, n] (+ bias [n], or + addend [m, n]). A transposed factor is stored
/// as [k, m] or [n, k], as in a dense layer y = x · Wᵀ + b and its gradients.
struct MatmulShape {
  int64_t m;
  int64_t n;
  int64_t k;
  bool transpose_a;
  bool transpose_b;
  bool bias;
  bool addend;

  void visit(Fields& fields) {
    fields.extent("m", m);
    fields.extent("n", n);
    fields.extent("k", k);
    fields.flag("transpose_a", transpose_a);
    fields.flag("transpose_b", transpose_b);
    fields.flag("bias", bias);
    fields.flag("addend", addend);
    fields.require(!bias || !addend, "a product has a \"bias\" or an \"addend\", not both");
  }
};

/// Inputs {A, B}, or these and what is added, stored as the shape says; outputs {C}.
class Matmul final : public Op {
 public:
  Matmul(const MatmulShape& shape, Pass pass) : shape_(shape), pass_(pass) {}

  Cost cost(fixtures::Precision precision) const override {
    const auto m = static_cast<double>(shape_.m);
    const auto n = static_cast<double>(shape_.n);
    const auto k = static_cast<double>(shape_.k);
    return {.flops = 2 * m * n * k,
            .bytes = element_bytes(precision) *
                     (m * k + k * n + m * n + (shape_.bias ? n : 0) + (shape_.addend ? m * n : 0)),
            .macs = m * n * k};
  }

  Tensors inputs(uint64_t seed) const override {
    RandomInputs draw(seed);
    const auto& [m, n, k, transpose_a, transpose_b, bias, addend] = shape_;
    Tensors made;
    made.push_back(transpose_a ? draw.normal({k, m}) : draw.normal({m, k}));
    made.push_back(transpose_b ? draw.normal({n, k}) : draw.normal({k, n}));
    if (bias) made.push_back(draw.normal({n}));
    if (addend) made.push_back(draw.normal({m, n}));
    return made;
  }

  Call call(const Tensors& in) const override {
    const at::Tensor a = shape_.transpose_a ? in[0].t() : in[0];
    const at::Tensor b = shape_.transpose_b ? in[1].t() : in[1];
    if (in.size() == 2) return [=]() -> Tensors { return {at::mm(a, b)}; };
    return [=, added = in[2]]() -> Tensors { return {at::addmm(added, a, b)}; };
  }

  Call native(const Tensors& in) const override {
    if (!is_skinny()) return nullptr;
    std::optional<at::Tensor> bias;
    if (shape_.bias) bias = in[2];
    return
        [x = in[0], weight = in[1], bias]() -> Tensors { return {skinny_linear(x, weight, bias)}; };
  }

  bool native_on(fixtures::Device device) const override {
    return device == fixtures::Device::kCpu;
  }

  std::vector<Backend> backends() const override {
    std::vector<Backend> all{Backend::kTorch, Backend::kOneDnn, Backend::kCublas};
    if (is_skinny()) all.push_back(Backend::kNative);
    if (pass_ == Pass::kForward) all.push_back(Backend::kTorchPacked);
    return all;
  }

  Problem problem(const Tensors& in, const Tensors& out) const override {
    MatmulProblem problem{.a = buffer(shape_.transpose_a ? in[0].t() : in[0]),
                          .b = buffer(shape_.transpose_b ? in[1].t() : in[1]),
                          .c = buffer(out[0])};
    if (in.size() > 2) problem.addend = buffer(in[2]);
    return problem;
  }

 private:
  /// A dense layer of few samples.
  bool is_skinny() const {
    return !shape_.transpose_a && shape_.transpose_b && shape_.m <= kMaxSkinnyRows &&
           !shape_.addend;
  }

  MatmulShape shape_;
  Pass pass_;
};

/// A row that is a transposed column has two strides of 1.
bool is_transposed(const at::Tensor& matrix) {
  return matrix.stride(0) < matrix.stride(1) ||
         (matrix.size(0) == 1 && matrix.size(1) > 1 && matrix.stride(0) == 1);
}

/// mm(a, b) and addmm(bias or addend, a, b); mv(a, x) and addmv(bias, a, x) as x · aᵀ; dot(x, y) as
/// a row times a column.
std::vector<MatchedOp> match_matmul(const ObservedCall& call) {
  const bool adds = call.name.find("add") != std::string_view::npos;
  const at::Tensor& a = call.arguments[adds ? 1 : 0].toTensor();
  const at::Tensor& b = call.arguments[adds ? 2 : 1].toTensor();
  if (a.dim() == 1) {
    return {matched(Pass::kForward, MatmulShape{.m = 1,
                                                .n = 1,
                                                .k = a.size(0),
                                                .transpose_a = false,
                                                .transpose_b = false,
                                                .bias = false,
                                                .addend = false})};
  }
  if (b.dim() == 1) {
    return {matched(Pass::kForward, MatmulShape{.m = 1,
                                                .n = a.size(0),
                                                .k = a.size(1),
                                                .transpose_a = false,
                                                .transpose_b = !is_transposed(a),
                                                .bias = adds,
                                                .addend = false})};
  }
  const bool addend =
      adds && call.arguments[0].toTensor().sizes() == c10::IntArrayRef({a.size(0), b.size(1)});
  // The gradients of a layer y = x · W are g · Wᵀ and xᵀ · g.
  const Pass pass = !call.backward     ? Pass::kForward
                    : is_transposed(a) ? Pass::kWgrad
                                       : Pass::kDgrad;
  return {matched(pass, MatmulShape{.m = a.size(0),
                                    .n = b.size(1),
                                    .k = a.size(1),
                                    .transpose_a = is_transposed(a),
                                    .transpose_b = is_transposed(b),
                                    .bias = adds && !addend,
                                    .addend = addend})};
}

}  // namespace

OpType matmul_type() {
  return {.name = "matmul",
          .op_class = OpClass::kMatrix,
          .aten = {"mm", "addmm", "addmm_", "_addmm_activation", "mv", "addmv", "addmv_", "dot"},
          .aten_parts = {"addbmm", "addbmm_", "vdot"},
          .passes = {Pass::kForward, Pass::kDgrad, Pass::kWgrad},
          .examples = {R"({"m": 5, "n": 7, "k": 3})",
                       R"({"m": 13, "n": 1, "k": 11, "transpose_b": true})",
                       R"({"m": 7, "n": 5, "k": 19, "transpose_b": true, "bias": true})",
                       R"({"m": 3, "n": 4, "k": 6, "addend": true})"},
          .fields = fields_of<MatmulShape>,
          .make = make_op<Matmul, MatmulShape>,
          .match = match_matmul};
}

}  // namespace fathom::ops
