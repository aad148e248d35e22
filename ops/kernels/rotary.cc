#include "ops/kernels/rotary.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <vector>

#include "ops/core/autograd/custom_function.h"
#include "ops/core/buffer.h"
#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

constexpr int64_t kGrain = 1 << 14;  // minimum elements per thread

at::Tensor composed(const at::Tensor& x, const RotaryTable& table) {
  const auto halves = x.chunk(2, -1);
  const at::Tensor cos = table.cos.to(x.scalar_type()).unsqueeze(1);  // for all heads
  const at::Tensor sin = table.sin.to(x.scalar_type()).unsqueeze(1);
  return x * cos + at::cat({-halves[1], halves[0]}, -1) * sin;
}

/// Rotates the heads of one position by its angles, or back where `sign` is -1.
template <typename T, typename S>
FATHOM_VECTOR_CLONES void rotate(const S* x, const T* cos, const T* sin, T sign, int64_t heads,
                                 int64_t width, S* y) {
  const int64_t half = width / 2;
  for (int64_t head = 0; head < heads; ++head) {
    const S* from = x + head * width;
    S* to = y + head * width;
    FATHOM_INDEPENDENT
    for (int64_t i = 0; i < half; ++i) {
      const T first = static_cast<T>(from[i]);
      const T second = static_cast<T>(from[i + half]);
      to[i] = static_cast<S>(first * cos[i] - second * (sign * sin[i]));
      to[i + half] = static_cast<S>(second * cos[i] + first * (sign * sin[i]));
    }
  }
}

at::Tensor rotated(const at::Tensor& given, const RotaryTable& table, double sign) {
  const at::Tensor x = given.contiguous();
  const int64_t positions = x.size(1);
  const int64_t heads = x.size(2);
  const int64_t width = x.size(3);
  at::Tensor y = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "rotary", [&] {
    using T = at::opmath_type<scalar_t>;
    const auto* from = x.const_data_ptr<scalar_t>();
    const auto* cos = table.cos.const_data_ptr<T>();
    const auto* sin = table.sin.const_data_ptr<T>();
    auto* to = y.mutable_data_ptr<scalar_t>();
    const int64_t grain = std::max<int64_t>(kGrain / (heads * width), 1);
    at::parallel_for(0, x.size(0) * positions, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t angles = row % positions * width;
        rotate<T>(from + row * heads * width, cos + angles, sin + angles, static_cast<T>(sign),
                  heads, width, to + row * heads * width);
      }
    });
  });
  return y;
}

std::vector<c10::IValue> shown(const at::Tensor& queries, const at::Tensor& keys) {
  return {queries, keys};
}

}  // namespace

QueriesKeys rotary(const at::Tensor& queries, const at::Tensor& keys, const RotaryTable& table) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:rotary", shown(queries, keys));
  return {composed(queries, table), composed(keys, table)};
}

QueriesKeys fused_rotary(const at::Tensor& queries, const at::Tensor& keys,
                         const RotaryTable& table) {
  const at::ScalarType type = queries.scalar_type();
  if (!queries.is_cpu() || !element(type) || keys.scalar_type() != type)
    return rotary(queries, keys, table);
  RECORD_USER_SCOPE_WITH_INPUTS("op:rotary", shown(queries, keys));
  const at::ScalarType computed = at::toOpMathType(type);
  const auto all = [&](const at::Tensor& angles) { return angles.to(computed).contiguous(); };
  const RotaryTable angles{.cos = all(table.cos), .sin = all(table.sin)};
  const auto outputs = apply(
      {.forward = [&]() -> CustomFunction::Result {
         return {{rotated(queries, angles, 1), rotated(keys, angles, 1)}, {angles.cos, angles.sin}};
       },
       .backward = [](const CustomFunction::Request& request) -> CustomFunction::List {
         const RotaryTable saved{.cos = request.saved[0], .sin = request.saved[1]};
         return {rotated(request.gradients[0], saved, -1),
                 rotated(request.gradients[1], saved, -1)};
       }},
      {queries, keys});
  return {outputs[0], outputs[1]};
}

}  // namespace fathom::ops
