#include <ATen/core/ivalue.h>
#include <ATen/ops/gru_cell.h>

#include "ops/core/call_args.h"
#include "ops/core/composite.h"
#include "ops/core/op.h"
#include "ops/core/tensor_sizes.h"
#include "ops/kernels/recurrent/gru.h"
#include "ops/types/matrix/gru_problem.h"

namespace fathom::ops {
namespace {

struct GruCellShape {
  int64_t n;
  int64_t inputs;
  int64_t width;

  void visit(Fields& fields) {
    fields.extent("n", n);
    fields.extent("inputs", inputs);
    fields.extent("width", width);
  }
};

/// {x [N, I], h [N, H], weights [3H, I] and [3H, H], biases [3H] and [3H]} gives {h' [N, H]}.
std::unique_ptr<Op> make_gru_cell(Fields& fields, Pass pass) {
  const auto s = read_shape<GruCellShape>(fields);
  const auto weights = elements({3, s.width, s.inputs + s.width});
  const double read = weights + elements({6 + s.n, s.width}) + elements({s.n, s.inputs});
  return make_composite(
      {.inputs = [s](RandomInputs& draws) -> Tensors {
         const int64_t fan_in = s.inputs + s.width;
         return {draws.normal({s.n, s.inputs}),
                 draws.normal({s.n, s.width}, 0.5),
                 draws.weight({3 * s.width, s.inputs}, fan_in),
                 draws.weight({3 * s.width, s.width}, fan_in),
                 draws.normal({3 * s.width}, 0.1),
                 draws.normal({3 * s.width}, 0.1)};
       },
       .with_gradient = 6,
       .forward = [](const Tensors& in) -> Tensors {
         return {at::gru_cell(in[0], in[1], in[2], in[3], in[4], in[5])};
       },
       .outputs = 1,
       .macs = static_cast<double>(s.n) * weights,
       .read = read,
       .written = elements({s.n, s.width}),
       .gradients = read,
       .native = [](const Tensors& in) -> Tensors {
         return {gru_cell(in[0], in[1], {in[2], in[3], in[4], in[5]})};
       },
       .problem = [backward = pass == Pass::kBackward](
                      const Tensors& in,
                      const Tensors& out) { return gru_problem(in, out, backward); },
       .vendors = {Backend::kOneDnn, Backend::kCudnn}},
      pass);
}

/// gru_cell(x, h, input weight, recurrent weight [3H, H], biases). The scope's arguments are {x [N,
/// I], recurrent weight}.
std::vector<MatchedOp> match_gru_cell(const ObservedCall& call) {
  const auto& arguments = call.arguments;
  const bool scope = call.name == "op:gru_cell";
  if (scope ? arguments.size() != 2 : !given(arguments[4]) || !given(arguments[5])) return {};
  const at::Tensor& x = arguments[0].toTensor();
  const int64_t width = arguments[scope ? 1 : 3].toTensor().size(1);
  if (x.dim() != 2) return {};
  return {
      matched(Pass::kForward, GruCellShape{.n = x.size(0), .inputs = x.size(1), .width = width})};
}

}  // namespace

OpType gru_cell_type() {
  return {
      .name = "gru_cell",
      .op_class = OpClass::kMatrix,
      .aten = {"gru_cell"},
      .passes = {Pass::kForward, Pass::kBackward},
      .examples = {R"({"n": 3, "inputs": 5, "width": 4})", R"({"n": 1, "inputs": 1, "width": 1})"},
      .fields = fields_of<GruCellShape>,
      .make = make_gru_cell,
      .match = match_gru_cell};
}

}  // namespace fathom::ops
