#include "ops/kernels/sequence/selective_scan.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "ops/kernels/cuda/scan_channel.h"

namespace fathom::ops {
namespace {

struct Extents {
  int64_t sequences;
  int64_t positions;
  int64_t channels;
  int64_t states;
};

// Positions below a chunk, whole chunks, and with a remainder.
const Extents kExtents[] = {{1, 1, 1, 1}, {2, 5, 3, 4}, {1, 32, 5, 16}, {2, 37, 6, 9}};

std::vector<at::Tensor> all(const ScanInputs& in) {
  return {in.u, in.delta, in.a, in.b, in.c, in.d, in.z, in.delta_bias};
}

ScanInputs drawn(const Extents& of, at::ScalarType elements, at::ScalarType computed) {
  at::manual_seed(3);
  const auto [n, t, c, s] = of;
  const auto rows = [&](int64_t width) { return at::randn({n, t, width}).to(elements); };
  return {.u = rows(c),
          .delta = rows(c),
          .a = -at::rand({c, s}).add(0.1).to(computed),
          .b = rows(s),
          .c = rows(s),
          .d = at::randn({c}).to(computed),
          .z = rows(c),
          .delta_bias = at::randn({c}).to(computed)};
}

/// The inputs as leaves in float64.
ScanInputs leaves_of(const ScanInputs& in) {
  const auto leaf = [](const at::Tensor& x) { return x.to(at::kDouble).requires_grad_(true); };
  return {.u = leaf(in.u),
          .delta = leaf(in.delta),
          .a = leaf(in.a),
          .b = leaf(in.b),
          .c = leaf(in.c),
          .d = leaf(in.d),
          .z = leaf(in.z),
          .delta_bias = leaf(in.delta_bias)};
}

double relative(const at::Tensor& found, const at::Tensor& exact) {
  const at::Tensor error = (found.to(at::kDouble) - exact).abs().max();
  return error.item<double>() / std::max(exact.abs().max().item<double>(), 1e-9);
}

/// A GPU's threads, one after the other on the CPU.
class GpuThreads : public testing::TestWithParam<std::tuple<at::ScalarType, Extents>> {};

TEST_P(GpuThreads, GiveTheScanAndItsGradients) {
  const auto [type, extents] = GetParam();
  const auto [n, positions, channels, states] = extents;
  const at::ScalarType computed = at::toOpMathType(type);
  const ScanInputs in = drawn(extents, type, computed);
  const at::Tensor g = at::randn({n, positions, channels}).to(type);
  const at::Tensor a = in.a.t().contiguous();
  const at::Tensor b = in.b.to(computed).contiguous();
  const at::Tensor c = in.c.to(computed).contiguous();
  const auto rows = [](const at::Tensor& x) -> ChannelRows {
    return {.data = x.const_data_ptr(), .sequence = x.stride(0), .position = x.stride(1)};
  };
  const ScanTensors tensors{.u = rows(in.u),
                            .delta = rows(in.delta),
                            .z = rows(in.z),
                            .a = a.const_data_ptr(),
                            .b = b.const_data_ptr(),
                            .c = c.const_data_ptr(),
                            .d = in.d.const_data_ptr(),
                            .bias = in.delta_bias.const_data_ptr(),
                            .before = nullptr,
                            .sequences = n,
                            .positions = positions,
                            .channels = channels,
                            .states = static_cast<int>(states)};
  const at::Tensor y = at::empty_like(in.u);
  const at::Tensor last = at::empty({n, states, channels}, a.options());
  const at::Tensor kept = at::empty({n, tensors.chunks(), states, channels}, a.options());
  const at::Tensor du = at::empty_like(y);
  const at::Tensor ddelta = at::empty_like(y);
  const at::Tensor dz = at::empty_like(y);
  const at::Tensor da = at::empty_like(last);
  const at::Tensor dd = at::empty({n, channels}, a.options());
  const at::Tensor dbias = at::empty_like(dd);
  const at::Tensor db = at::zeros_like(b);
  const at::Tensor dc = at::zeros_like(c);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, type, "scan", [&] {
    using T = scalar_t;
    using Sum = at::opmath_type<scalar_t>;
    const ScanOutputs outputs{.y = y.mutable_data_ptr(),
                              .last = last.mutable_data_ptr(),
                              .kept = kept.mutable_data_ptr()};
    const ScanChannelGradients gradients{.g = rows(g),
                                         .kept = kept.const_data_ptr(),
                                         .u = du.mutable_data_ptr(),
                                         .delta = ddelta.mutable_data_ptr(),
                                         .z = dz.mutable_data_ptr(),
                                         .a = da.mutable_data_ptr(),
                                         .d = dd.mutable_data_ptr(),
                                         .bias = dbias.mutable_data_ptr()};
    for (int64_t i = 0; i < n * channels; ++i) {
      scan_channel<T, Sum>(tensors, i / channels, i % channels, outputs);
      scan_channel_backward<T, Sum>(
          tensors, i / channels, i % channels, /*inside=*/true, gradients,
          [&, sequence = i / channels, s = states](int64_t t, const Sum(&parts)[2 * kMaxStates]) {
            for (int64_t state = 0; state < s; ++state) {
              db[sequence][t][state] += parts[state];
              dc[sequence][t][state] += parts[kMaxStates + state];
            }
          });
    }
  });
  const ScanInputs leaves = leaves_of(in);
  const auto [exact, exact_last] = selective_scan(leaves);
  const double tolerance = type == at::kBFloat16 ? 2e-2 : type == at::kFloat ? 2e-5 : 1e-12;
  EXPECT_LT(relative(y, exact), tolerance);
  EXPECT_LT(relative(last, exact_last), tolerance);
  const auto expected = torch::autograd::grad({exact}, all(leaves), {g.to(at::kDouble)});
  const std::vector<at::Tensor> found{du,        ddelta, da.sum(0).t(), db, dc,
                                      dd.sum(0), dz,     dbias.sum(0)};
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_LT(relative(found[i], expected[i]), tolerance) << "input " << i;
}

INSTANTIATE_TEST_SUITE_P(Types, GpuThreads,
                         testing::Combine(testing::Values(at::kDouble, at::kFloat, at::kBFloat16),
                                          testing::ValuesIn(kExtents)));

TEST(SelectiveScan, GoesOnFromStates) {
  const ScanInputs in = drawn({2, 21, 5, 4}, at::kFloat, at::kFloat);
  const auto part = [&](int64_t begin, int64_t end) -> ScanInputs {
    const auto of = [&](const at::Tensor& x) { return x.slice(1, begin, end); };
    return {of(in.u), of(in.delta), in.a, of(in.b), of(in.c), in.d, of(in.z), in.delta_bias};
  };
  const at::Tensor whole = fused_selective_scan(in).y;
  const auto first = fused_selective_scan(part(0, 13));
  const at::Tensor rest = fused_selective_scan(part(13, 21), first.state).y;
  EXPECT_LT(relative(first.y, whole.slice(1, 0, 13).to(at::kDouble)), 1e-6);
  EXPECT_LT(relative(rest, whole.slice(1, 13).to(at::kDouble)), 1e-6);
}

}  // namespace
}  // namespace fathom::ops
