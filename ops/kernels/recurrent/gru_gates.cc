#include "ops/kernels/recurrent/gru_gates.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/lerp.h>

#include "ops/kernels/lstm_gates_rule.h"
#include "ops/kernels/recurrent/unit_loops.h"

namespace fathom::ops {
namespace {

/// The memory of GruGates.
template <typename S>
struct Forward {
  S* gates;
  const S* products;
  const S* h;
  S* next;
  S* recurrence;
};

/// The memory of GruGatesBackward.
template <typename S>
struct Backward {
  const S* gates;
  const S* recurrence;
  const S* h;
  const S* g;
  S* carried;
  S* dgates;
  S* dproducts;
};

/// Computes unit `unit` of sample n in type T.
template <typename T, typename S>
inline void run_unit(const Forward<S>& step, int64_t width, int64_t n, int64_t unit) {
  const int64_t place = n * width + unit;
  S* gates = step.gates + 3 * n * width + unit;
  const S* products = step.products + 3 * n * width + unit;
  const T r = logistic(static_cast<T>(gates[0]) + static_cast<T>(products[0]));
  const T z = logistic(static_cast<T>(gates[width]) + static_cast<T>(products[width]));
  const T inside = static_cast<T>(products[2 * width]);
  const T candidate = hyperbolic_tangent(static_cast<T>(gates[2 * width]) + r * inside);
  step.next[place] = static_cast<S>(candidate + z * (static_cast<T>(step.h[place]) - candidate));
  step.recurrence[place] = static_cast<S>(inside);
  gates[0] = static_cast<S>(r);
  gates[width] = static_cast<S>(z);
  gates[2 * width] = static_cast<S>(candidate);
}

template <typename T, typename S>
inline void run_unit(const Backward<S>& step, int64_t width, int64_t n, int64_t unit) {
  const int64_t place = n * width + unit;
  const S* gates = step.gates + 3 * n * width + unit;
  const auto r = static_cast<T>(gates[0]);
  const auto z = static_cast<T>(gates[width]);
  const auto candidate = static_cast<T>(gates[2 * width]);
  const T dnext = static_cast<T>(step.g[place]) + static_cast<T>(step.carried[place]);
  const T dn = dnext * (1 - z) * (1 - candidate * candidate);
  const T dz = dnext * (static_cast<T>(step.h[place]) - candidate) * z * (1 - z);
  const T dr = dn * static_cast<T>(step.recurrence[place]) * r * (1 - r);
  S* dgates = step.dgates + 3 * n * width + unit;
  S* dproducts = step.dproducts + 3 * n * width + unit;
  step.carried[place] = static_cast<S>(dnext * z);
  dgates[0] = dproducts[0] = static_cast<S>(dr);
  dgates[width] = dproducts[width] = static_cast<S>(dz);
  dgates[2 * width] = static_cast<S>(dn);
  dproducts[2 * width] = static_cast<S>(dn * r);
}

/// Whether the loops of this file run over `tensor`.
bool has_loop(const at::Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  return tensor.is_cpu() &&
         (type == at::kFloat || type == at::kDouble || at::isReducedFloatingType(type));
}

/// Parts r, z and n of [N, 3H].
at::Tensor part(const at::Tensor& all, int64_t gate) {
  const int64_t width = all.size(1) / 3;
  return all.narrow(1, gate * width, width);
}

void compose(const GruGates& step) {
  const at::Tensor r = part(step.gates, 0).add_(part(step.products, 0)).sigmoid_();
  const at::Tensor z = part(step.gates, 1).add_(part(step.products, 1)).sigmoid_();
  const at::Tensor inside = part(step.products, 2);
  step.recurrence.copy_(inside);
  const at::Tensor candidate = part(step.gates, 2).add_(r * inside).tanh_();
  at::Tensor next = step.next;
  at::lerp_out(next, candidate, step.h, z);
}

void compose(const GruGatesBackward& step) {
  const at::Tensor r = part(step.gates, 0);
  const at::Tensor z = part(step.gates, 1);
  const at::Tensor candidate = part(step.gates, 2);
  const at::Tensor dnext = step.g + step.carried;
  const at::Tensor dn = dnext * (1 - z) * (1 - candidate * candidate);
  part(step.dgates, 0).copy_(dn * step.recurrence * r * (1 - r));
  part(step.dgates, 1).copy_(dnext * (step.h - candidate) * z * (1 - z));
  part(step.dgates, 2).copy_(dn);
  step.dproducts.copy_(step.dgates);
  part(step.dproducts, 2).mul_(r);
  step.carried.copy_(dnext * z);
}

}  // namespace

void gru_gates(const GruGates& step) {
  if (!has_loop(step.h)) {
    compose(step);
    return;
  }
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, step.h.scalar_type(), "gru_gates", [&] {
    const Forward<scalar_t> tensors{.gates = step.gates.mutable_data_ptr<scalar_t>(),
                                    .products = step.products.const_data_ptr<scalar_t>(),
                                    .h = step.h.const_data_ptr<scalar_t>(),
                                    .next = step.next.mutable_data_ptr<scalar_t>(),
                                    .recurrence = step.recurrence.mutable_data_ptr<scalar_t>()};
    run_units<at::opmath_type<scalar_t>>(tensors, step.h.size(0), step.h.size(1));
  });
}

void gru_gates_backward(const GruGatesBackward& step) {
  if (!has_loop(step.h)) {
    compose(step);
    return;
  }
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, step.h.scalar_type(), "gru_gates_backward", [&] {
        const Backward<scalar_t> tensors{.gates = step.gates.const_data_ptr<scalar_t>(),
                                         .recurrence = step.recurrence.const_data_ptr<scalar_t>(),
                                         .h = step.h.const_data_ptr<scalar_t>(),
                                         .g = step.g.const_data_ptr<scalar_t>(),
                                         .carried = step.carried.mutable_data_ptr<scalar_t>(),
                                         .dgates = step.dgates.mutable_data_ptr<scalar_t>(),
                                         .dproducts = step.dproducts.mutable_data_ptr<scalar_t>()};
        run_units<at::opmath_type<scalar_t>>(tensors, step.h.size(0), step.h.size(1));
      });
}

}  // namespace fathom::ops
