#pragma once

#include <array>
#include <functional>
#include <memory>

#include "ops/backends/onednn/primitive.h"

namespace fathom::ops::onednn {

/// The layout of images [N, C, H, W] for a primitive that runs over any: the first for which
/// `describe` gives more than a reference implementation, channels in blocks before channels last;
/// else, and for other tensors, the buffer's own.
dnnl::memory::desc image_layout(
    const Buffer& image,
    const std::function<dnnl::primitive_desc_base(const dnnl::memory::desc&)>& describe);

/// A primitive of images in that layout.
std::unique_ptr<Kernel> image_primitive(
    const Buffer& image,
    const std::function<dnnl::primitive_desc_base(const dnnl::memory::desc&)>& describe,
    const std::vector<Argument>& inputs, const std::vector<Argument>& outputs);

/// Padding after an image x, below zero where no window reaches its end, so that as many windows
/// fit as y has pixels.
dnnl::memory::dims padding_after(const Buffer& x, const Buffer& y,
                                 const std::array<int64_t, 2>& kernel,
                                 const std::array<int64_t, 2>& stride,
                                 const std::array<int64_t, 2>& padding,
                                 const std::array<int64_t, 2>& dilation);

}  // namespace fathom::ops::onednn
