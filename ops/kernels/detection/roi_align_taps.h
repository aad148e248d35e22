#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <vector>

#include "ops/kernels/detection/roi_align_rule.h"

namespace fathom::ops {

// Bilinear interpolation and the mean over a bin are both separable: a region's bins are
// Y · features · Xᵀ, with few non-zero elements in the rows of Y and X.

/// One non-zero element of a row of Y or X.
template <typename Sum>
struct Tap {
  int64_t pixel;
  Sum weight;
};

/// Y or X of one region.
template <typename Sum>
struct Axis {
  std::vector<Tap<Sum>> taps;  ///< of all bins
  std::vector<int64_t> ends;   ///< where the taps of each bin end
  int64_t first = 0;           ///< first pixel with a tap
  int64_t count = 0;           ///< pixels from `first` to the last one with a tap

  Axis(const RegionAxis<Sum>& axis, int64_t bins, int64_t samples, int64_t extent) {
    const Sum share = 1 / static_cast<Sum>(samples);
    for (int64_t bin = 0; bin < bins; ++bin) {
      const std::size_t begin = taps.size();
      for (int64_t i = 0; i < samples; ++i) {
        const auto found = interpolation(axis.position(bin, i, samples), extent);
        add(begin, {found.low, share * found.low_weight});
        add(begin, {found.high, share * found.high_weight});
      }
      ends.push_back(std::ssize(taps));
    }
    if (taps.empty()) return;  // the region is outside the image
    const auto [least, most] = std::ranges::minmax(taps, {}, &Tap<Sum>::pixel);
    first = least.pixel;
    count = most.pixel - first + 1;
  }

  int64_t begin(int64_t bin) const {
    return bin == 0 ? 0 : ends[static_cast<std::size_t>(bin - 1)];
  }
  int64_t end(int64_t bin) const { return ends[static_cast<std::size_t>(bin)]; }

 private:
  /// Adds to the last tap of the bin, which begins at `begin`, where it is of the same pixel.
  void add(std::size_t begin, const Tap<Sum>& tap) {
    if (tap.weight == 0) return;
    if (taps.size() > begin && taps.back().pixel == tap.pixel) {
      taps.back().weight += tap.weight;
    } else {
      taps.push_back(tap);
    }
  }
};

template <typename Sum>
struct Region {
  int64_t place;  ///< row of the tensor of regions
  int64_t image;
  Axis<Sum> y;
  Axis<Sum> x;
};

/// The rows of `regions` [R, 5] for features of shape `sizes`, ordered by image. Throws c10::Error
/// where an image is not one of the features.
template <typename Sum>
std::vector<Region<Sum>> prepared_regions(const at::Tensor& regions, at::IntArrayRef sizes,
                                          const RoiAlignOptions& align) {
  std::vector<Region<Sum>> all;
  all.reserve(static_cast<std::size_t>(regions.size(0)));
  const Sum* box = regions.const_data_ptr<Sum>();
  for (int64_t i = 0; i < regions.size(0); ++i, box += 5) {
    TORCH_CHECK(box[0] >= 0 && box[0] < static_cast<Sum>(sizes[0]), "roi_align: region ", i,
                " is of image ", box[0], ", expected one of ", sizes[0]);
    all.push_back({.place = i,
                   .image = static_cast<int64_t>(box[0]),
                   .y = Axis<Sum>(RegionAxis<Sum>(box[2], box[4], align.scale, align.height),
                                  align.height, align.samples, sizes[2]),
                   .x = Axis<Sum>(RegionAxis<Sum>(box[1], box[3], align.scale, align.width),
                                  align.width, align.samples, sizes[3])});
  }
  std::ranges::stable_sort(all, {}, &Region<Sum>::image);
  return all;
}

}  // namespace fathom::ops
