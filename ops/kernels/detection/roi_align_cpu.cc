#include "ops/kernels/detection/roi_align_cpu.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

#include "ops/kernels/detection/roi_align_taps.h"
#include "ops/kernels/vector_clones.h"

namespace fathom::ops {
namespace {

// Channels that are adjacent in scratch memory. A constant, so that loops over it become a few
// vector instructions; few enough for many threads to share the channels of one image.
constexpr int64_t kChannels = 32;

/// `count` channels with `plane` elements each, as [plane, kChannels].
template <typename T, typename Sum>
FATHOM_VECTOR_CLONES void gather(const T* from, int64_t count, int64_t plane, Sum* to) {
  if (count < kChannels) std::fill(to, to + plane * kChannels, Sum{0});
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t i = 0; i < plane; ++i)
      to[i * kChannels + c] = static_cast<Sum>(from[c * plane + i]);
  }
}

/// The reverse of gather().
template <typename T, typename Sum>
FATHOM_VECTOR_CLONES void scatter(const Sum* from, int64_t count, int64_t plane, T* to) {
  for (int64_t c = 0; c < count; ++c) {
    for (int64_t i = 0; i < plane; ++i) to[c * plane + i] = static_cast<T>(from[i * kChannels + c]);
  }
}

/// to = Σ weight · from[pixel] over `count` taps, each kChannels wide.
template <typename Sum>
[[gnu::always_inline]] inline void weighed(const Tap<Sum>* taps, int64_t count, const Sum* from,
                                           int64_t stride, Sum* to) {
  Sum sum[kChannels] = {};
  for (int64_t t = 0; t < count; ++t) {
    const Sum weight = taps[t].weight;
    const Sum* pixel = from + taps[t].pixel * stride;
    for (int64_t c = 0; c < kChannels; ++c) sum[c] += weight * pixel[c];
  }
  for (int64_t c = 0; c < kChannels; ++c) to[c] = sum[c];
}

/// Writes `bins` [height, width, kChannels] from `plane` [H, columns, kChannels]. `row` has space
/// for one row of the plane.
template <typename Sum>
FATHOM_VECTOR_CLONES void align_block(const Region<Sum>& region, const Sum* plane, int64_t columns,
                                      Sum* row, Sum* bins) {
  const auto height = std::ssize(region.y.ends);
  const auto width = std::ssize(region.x.ends);
  for (int64_t i = 0; i < height; ++i) {
    const Tap<Sum>* ys = region.y.taps.data() + region.y.begin(i);
    const int64_t y_count = region.y.end(i) - region.y.begin(i);
    for (int64_t x = region.x.first; x < region.x.first + region.x.count; ++x)
      weighed(ys, y_count, plane + x * kChannels, columns * kChannels, row + x * kChannels);
    for (int64_t j = 0; j < width; ++j) {
      weighed(region.x.taps.data() + region.x.begin(j), region.x.end(j) - region.x.begin(j), row,
              kChannels, bins + (i * width + j) * kChannels);
    }
  }
}

/// Adds the gradient of `bins` to that of `plane`.
template <typename Sum>
FATHOM_VECTOR_CLONES void align_block_backward(const Region<Sum>& region, const Sum* bins,
                                               int64_t columns, Sum* row, Sum* plane) {
  const auto height = std::ssize(region.y.ends);
  const auto width = std::ssize(region.x.ends);
  const int64_t first = region.x.first * kChannels;
  const int64_t count = region.x.count * kChannels;
  for (int64_t i = 0; i < height; ++i) {
    std::fill(row + first, row + first + count, Sum{0});
    for (int64_t j = 0; j < width; ++j) {
      const Sum* bin = bins + (i * width + j) * kChannels;
      for (int64_t t = region.x.begin(j); t < region.x.end(j); ++t) {
        const auto& tap = region.x.taps[static_cast<std::size_t>(t)];
        Sum* to = row + tap.pixel * kChannels;
        for (int64_t c = 0; c < kChannels; ++c) to[c] += tap.weight * bin[c];
      }
    }
    for (int64_t t = region.y.begin(i); t < region.y.end(i); ++t) {
      const auto& tap = region.y.taps[static_cast<std::size_t>(t)];
      Sum* to = plane + tap.pixel * columns * kChannels + first;
      const Sum* from = row + first;
      FATHOM_INDEPENDENT
      for (int64_t c = 0; c < count; ++c) to[c] += tap.weight * from[c];
    }
  }
}

/// A block of channels of one image, and space for the bins of a region.
template <typename Sum>
struct Scratch {
  Scratch(at::IntArrayRef sizes, const RoiAlignOptions& align)
      : plane(elements(sizes[2] * sizes[3])),
        row(elements(sizes[3])),
        bins(elements(align.height * align.width)) {}

  static std::size_t elements(int64_t pixels) {
    return static_cast<std::size_t>(pixels * kChannels);
  }

  std::vector<Sum> plane;
  std::vector<Sum> row;
  std::vector<Sum> bins;
};

int64_t block_count(at::IntArrayRef sizes) { return (sizes[1] + kChannels - 1) / kChannels; }

template <typename T>
void forward(const at::Tensor& features, const at::Tensor& regions, const RoiAlignOptions& align,
             T* y) {
  using Sum = at::opmath_type<T>;
  const auto all = prepared_regions<Sum>(regions, features.sizes(), align);
  const auto count = std::ssize(all);
  const int64_t channels = features.size(1);
  const int64_t pixels = features.size(2) * features.size(3);
  const int64_t bins = align.height * align.width;
  const T* from = features.const_data_ptr<T>();
  // Regions vary fastest: a thread gathers a block of channels once for many of them.
  at::parallel_for(0, block_count(features.sizes()) * count, 1, [&](int64_t begin, int64_t end) {
    Scratch<Sum> scratch(features.sizes(), align);
    const T* gathered = nullptr;
    for (int64_t i = begin; i < end; ++i) {
      const auto& region = all[static_cast<std::size_t>(i % count)];
      const int64_t channel = i / count * kChannels;
      const int64_t block = std::min(kChannels, channels - channel);
      const T* wanted = from + (region.image * channels + channel) * pixels;
      if (wanted != gathered) gather(wanted, block, pixels, scratch.plane.data());
      gathered = wanted;
      align_block(region, scratch.plane.data(), features.size(3), scratch.row.data(),
                  scratch.bins.data());
      scatter(scratch.bins.data(), block, bins, y + (region.place * channels + channel) * bins);
    }
  });
}

template <typename T>
void backward(const at::Tensor& g, const at::Tensor& regions, at::IntArrayRef sizes,
              const RoiAlignOptions& align, T* dx) {
  using Sum = at::opmath_type<T>;
  const auto all = prepared_regions<Sum>(regions, sizes, align);
  const int64_t channels = sizes[1];
  const int64_t blocks = block_count(sizes);
  const int64_t pixels = sizes[2] * sizes[3];
  const int64_t bins = align.height * align.width;
  const T* from = g.const_data_ptr<T>();
  // A block of an image belongs to one thread, which adds the regions in their order.
  at::parallel_for(0, sizes[0] * blocks, 1, [&](int64_t begin, int64_t end) {
    Scratch<Sum> scratch(sizes, align);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t channel = i % blocks * kChannels;
      const int64_t block = std::min(kChannels, channels - channel);
      std::ranges::fill(scratch.plane, Sum{0});
      for (const auto& region :
           std::ranges::equal_range(all, i / blocks, {}, &Region<Sum>::image)) {
        gather(from + (region.place * channels + channel) * bins, block, bins, scratch.bins.data());
        align_block_backward(region, scratch.bins.data(), sizes[3], scratch.row.data(),
                             scratch.plane.data());
      }
      scatter(scratch.plane.data(), block, pixels, dx + (i / blocks * channels + channel) * pixels);
    }
  });
}

}  // namespace

at::Tensor roi_align_cpu(const at::Tensor& features, const at::Tensor& regions,
                         const RoiAlignOptions& align) {
  at::Tensor y =
      at::empty({regions.size(0), features.size(1), align.height, align.width}, features.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, y.scalar_type(), "roi_align", [&] {
    forward<scalar_t>(features, regions, align, y.mutable_data_ptr<scalar_t>());
  });
  return y;
}

at::Tensor roi_align_backward_cpu(const at::Tensor& g, const at::Tensor& regions,
                                  at::IntArrayRef sizes, const RoiAlignOptions& align) {
  at::Tensor dx = at::empty(sizes, g.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, dx.scalar_type(), "roi_align", [&] {
    backward<scalar_t>(g, regions, sizes, align, dx.mutable_data_ptr<scalar_t>());
  });
  return dx;
}

}  // namespace fathom::ops
