#pragma once

#include <array>
#include <functional>
#include <memory>

#include "ops/backends/onednn/primitive.h"

namespace fathom::ops::onednn {

/// Whether an image [N, C, H, W] has the channels last and no gaps.
bool is_channels_last(const Buffer& image);

/// The layout of images [N, C, H, W] for a primitive that accepts any layout. Tries blocked
/// channels and channels last; channels last first if the buffer has it. Returns the first one for
/// which `describe` finds more than a reference implementation; otherwise, and for tensors of other
/// dimensions, the buffer's own layout.
dnnl::memory::desc image_layout(
    const Buffer& image,
    const std::function<dnnl::primitive_desc_base(const dnnl::memory::desc&)>& describe);

/// A primitive over images in that layout.
std::unique_ptr<Kernel> image_primitive(
    const Buffer& image,
    const std::function<dnnl::primitive_desc_base(const dnnl::memory::desc&)>& describe,
    const std::vector<Argument>& inputs, const std::vector<Argument>& outputs);

/// The padding after an image x with which as many windows fit as y has pixels. It is negative
/// where no window reaches the end of the image.
dnnl::memory::dims padding_after(const Buffer& x, const Buffer& y,
                                 const std::array<int64_t, 2>& kernel,
                                 const std::array<int64_t, 2>& stride,
                                 const std::array<int64_t, 2>& padding,
                                 const std::array<int64_t, 2>& dilation);

}  // namespace fathom::ops::onednn
