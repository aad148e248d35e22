// Max-pooling of images on the CPU, in place of LibTorch's kernel. fathom_bench runs whole models
// and their ops on it with --fathom_kernels=libmy_kernel.so.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace {

/// The pooling along one dimension.
struct Windows {
  int64_t in;
  int64_t kernel;
  int64_t stride;
  int64_t padding;
  int64_t dilation;
  bool ceil;

  /// The number of windows. A window that begins after the image and its padding is left out.
  int64_t count() const {
    const int64_t extent = in + 2 * padding - dilation * (kernel - 1) - 1;
    const int64_t windows = (extent + (ceil ? stride - 1 : 0)) / stride + 1;
    return ceil && (windows - 1) * stride >= in + padding ? windows - 1 : windows;
  }
};

/// Pools one plane [H, W]: of each window the largest value and its index in the plane, for the
/// gradient.
void pool(const float* plane, const Windows& rows, const Windows& columns, float* largest,
          int64_t* place) {
  const int64_t width = columns.count();
  for (int64_t y = 0; y < rows.count(); ++y, largest += width, place += width) {
    std::fill_n(largest, width, -std::numeric_limits<float>::infinity());
    std::fill_n(place, width, int64_t{-1});
    for (int64_t i = 0; i < rows.kernel; ++i) {
      const int64_t row = y * rows.stride - rows.padding + i * rows.dilation;
      if (row < 0 || row >= rows.in) continue;
      for (int64_t j = 0; j < columns.kernel; ++j) {
        // The windows whose column j lies in the image.
        const int64_t shift = j * columns.dilation - columns.padding;
        const int64_t begin = shift < 0 ? (-shift + columns.stride - 1) / columns.stride : 0;
        const int64_t end =
            std::min(width, (columns.in - shift + columns.stride - 1) / columns.stride);
        const int64_t first = row * columns.in + shift;
        for (int64_t x = begin; x < end; ++x) {
          const float value = plane[first + x * columns.stride];
          const bool better = value > largest[x] || place[x] < 0 || value != value;  // NaN wins
          largest[x] = better ? value : largest[x];
          place[x] = better ? first + x * columns.stride : place[x];
        }
      }
    }
  }
}

/// aten::max_pool2d_with_indices of images [N, C, H, W] or [C, H, W].
std::tuple<at::Tensor, at::Tensor> max_pool(const at::Tensor& images, at::IntArrayRef kernel,
                                            at::IntArrayRef stride, at::IntArrayRef padding,
                                            at::IntArrayRef dilation, bool ceil) {
  // A list has one value for both dimensions or two; no stride stands for the kernel.
  const auto of = [](at::IntArrayRef list, std::size_t dimension) {
    return list[list.size() == 1 ? 0 : dimension];
  };
  const auto windows = [&](std::size_t dimension, int64_t in) {
    return Windows{in,
                   of(kernel, dimension),
                   of(stride.empty() ? kernel : stride, dimension),
                   of(padding, dimension),
                   of(dilation, dimension),
                   ceil};
  };
  const Windows rows = windows(0, images.size(-2));
  const Windows columns = windows(1, images.size(-1));
  std::vector<int64_t> sizes = images.sizes().vec();
  sizes.end()[-2] = rows.count();
  sizes.end()[-1] = columns.count();
  const at::Tensor in = images.to(at::kFloat).contiguous();
  const at::Tensor largest = at::empty(sizes, in.options());
  const at::Tensor places = at::empty(sizes, in.options().dtype(at::kLong));
  const int64_t plane = rows.in * columns.in;
  const int64_t pooled = rows.count() * columns.count();
  const float* from = in.const_data_ptr<float>();
  float* to = largest.mutable_data_ptr<float>();
  int64_t* to_places = places.mutable_data_ptr<int64_t>();
  at::parallel_for(0, plane > 0 ? in.numel() / plane : 0, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      pool(from + i * plane, rows, columns, to + i * pooled, to_places + i * pooled);
  });
  return {largest.to(images.scalar_type()), places};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, CPU, m) { m.impl("max_pool2d_with_indices", max_pool); }
