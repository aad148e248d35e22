#include "ops/kernels/fused_clip.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

#include "ops/core/buffer.h"
#include "ops/cuda/library.h"
#include "ops/kernels/cuda/fused_clip.h"
#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

using List = std::vector<at::Tensor>;

// Minimum elements per thread, and maximum elements of one sum in type T.
constexpr int64_t kGrain = 1 << 14;
constexpr int64_t kSums = 64;  // independent sums, so that no add waits for another

template <typename T, typename S>
FATHOM_VECTOR_CLONES double squares_in(const S* g, int64_t count) {
  T sums[kSums] = {};
  const int64_t whole = count / kSums * kSums;
  for (int64_t i = 0; i < whole; i += kSums) {
    for (int64_t k = 0; k < kSums; ++k) {
      const T one = static_cast<T>(g[i + k]);
      sums[k] += one * one;
    }
  }
  for (int64_t i = whole; i < count; ++i) {
    const T one = static_cast<T>(g[i]);
    sums[i - whole] += one * one;
  }
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

template <typename T, typename S>
FATHOM_VECTOR_CLONES void scale(S* g, T factor, int64_t count) {
  for (int64_t i = 0; i < count; ++i) g[i] = static_cast<S>(static_cast<T>(g[i]) * factor);
}

template <typename T, typename S>
double squares_of(const S* g, int64_t count) {
  const auto add = [g](int64_t begin, int64_t end, double sum) {
    for (int64_t i = begin; i < end; i += kGrain) {
      sum += squares_in<T>(g + i, std::min(kGrain, end - i));
    }
    return sum;
  };
  return at::parallel_reduce(0, count, kGrain, 0.0, add, std::plus<>());
}

void clip_on_cpu(const List& gradients, double max_norm) {
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, gradients[0].scalar_type(), "fused_clip", [&] {
        using T = at::opmath_type<scalar_t>;
        double squares = 0;
        for (const auto& g : gradients) {
          squares += squares_of<T>(g.const_data_ptr<scalar_t>(), g.numel());
        }
        const T factor = static_cast<T>(clip_factor(squares, max_norm));
        for (const auto& g : gradients) {
          auto* const data = g.mutable_data_ptr<scalar_t>();
          at::parallel_for(0, g.numel(), kGrain, [&](int64_t begin, int64_t end) {
            scale<T>(data + begin, factor, end - begin);
          });
        }
      });
}

void clip_on_cuda(const List& gradients, double max_norm) {
  const at::Tensor& first = gradients[0];
  const c10::DeviceGuard guard(first.device());
  const at::Tensor squares = at::zeros({}, first.options().dtype(at::kDouble));
  FusedClip call{
      .max_norm = max_norm,
      .element = *element(first.scalar_type()),
      .gradients = {},
      .squares = squares.mutable_data_ptr<double>(),
      .stream = at::accelerator::getCurrentStream(first.device().index()).native_handle()};
  for (const auto& g : gradients) {
    call.gradients.push_back({.lists = {{g.mutable_data_ptr()}}, .count = g.numel()});
  }
  const char* error = cuda_library()->fused_clip(call);
  TORCH_CHECK(error == nullptr, "clip on ", first.device(), ": ", error);
}

}  // namespace

void fused_clip(const List& gradients, double max_norm) {
  RECORD_USER_SCOPE_WITH_INPUTS("op:clip_norm", std::vector<c10::IValue>{gradients});
  if (gradients.empty()) return;
  const at::Tensor& first = gradients[0];
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const at::Tensor& g = gradients[i];
    TORCH_CHECK(g.is_non_overlapping_and_dense() && g.scalar_type() == first.scalar_type() &&
                    g.device() == first.device() && element(g.scalar_type()),
                "clip: gradient ", i, " differs from the first in type or device, or is not dense");
  }
  if (first.device().is_cpu()) return clip_on_cpu(gradients, max_norm);
  TORCH_CHECK(first.device().is_cuda() && cuda_library() != nullptr, "clip: no kernel on ",
              first.device());
  clip_on_cuda(gradients, max_norm);
}

}  // namespace fathom::ops
