// Matrix products on the CPU, in place of LibTorch's kernels. A linear layer calls addmm, its
// gradients and products without a bias call mm, so both are replaced. fathom_bench runs whole
// models and their ops on them with --fathom_kernels=libmy_product.so.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
#include <cstdint>

namespace {

/// Adds a [m, k] times b [k, n] to c [m, n], all contiguous. A block of b stays in the caches while
/// all rows of a use it.
void add_product(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k) {
  constexpr int64_t kColumns = 512;
  constexpr int64_t kDepth = 64;
  at::parallel_for(0, m, 1, [&](int64_t first, int64_t last) {
    for (int64_t j = 0; j < n; j += kColumns) {
      const int64_t columns = std::min(kColumns, n - j);
      for (int64_t block = 0; block < k; block += kDepth) {
        const int64_t end = std::min(k, block + kDepth);
        for (int64_t row = first; row < last; ++row) {
          float* to = c + row * n + j;
          for (int64_t p = block; p < end; ++p) {
            const float factor = a[row * k + p];
            const float* from = b + p * n + j;
            for (int64_t x = 0; x < columns; ++x) to[x] += factor * from[x];
          }
        }
      }
    }
  });
}

/// The product in float, whatever the type of a and b.
at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), "expected [m, k] and [k, n]");
  const at::Tensor left = a.to(at::kFloat).contiguous();
  const at::Tensor right = b.to(at::kFloat).contiguous();
  const at::Tensor sum = at::zeros({a.size(0), b.size(1)}, left.options());
  add_product(left.const_data_ptr<float>(), right.const_data_ptr<float>(),
              sum.mutable_data_ptr<float>(), a.size(0), b.size(1), a.size(1));
  return sum;
}

/// aten::mm.
at::Tensor mm(const at::Tensor& a, const at::Tensor& b) {
  return product(a, b).to(a.scalar_type());
}

/// aten::addmm: beta c + alpha a b. c may be a row. With a beta of 0 it is not read.
at::Tensor addmm(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b,
                 const at::Scalar& beta, const at::Scalar& alpha) {
  at::Tensor sum = product(a, b);
  if (alpha.toDouble() != 1) sum.mul_(alpha);
  if (beta.toDouble() != 0) sum.add_(c, beta);
  return sum.to(a.scalar_type());
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("mm", mm);
  m.impl("addmm", addmm);
}
