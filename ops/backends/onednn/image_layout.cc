#include "ops/backends/onednn/image_layout.h"

#include <string_view>

namespace fathom::ops::onednn {

using dnnl::memory;
using Tag = memory::format_tag;

bool is_channels_last(const Buffer& image) { return layout(image) == layout_as(image, Tag::nhwc); }

memory::desc image_layout(
    const Buffer& image,
    const std::function<dnnl::primitive_desc_base(const memory::desc&)>& describe) {
  if (image.sizes.size() == 4) {
    using Tags = std::array<Tag, 3>;
    for (const Tag tag : is_channels_last(image) ? Tags{Tag::nhwc, Tag::nChw16c, Tag::nChw8c}
                                                 : Tags{Tag::nChw16c, Tag::nChw8c, Tag::nhwc}) {
      memory::desc tried = layout_as(image, tag);
      try {
        const auto description = describe(tried);
        const std::string_view implementation = description.impl_info_str();
        if (!implementation.starts_with("ref") && !implementation.starts_with("simple"))
          return tried;
      } catch (const dnnl::error&) {
        continue;  // not supported in this layout
      }
    }
  }
  return layout(image);
}

std::unique_ptr<Kernel> image_primitive(
    const Buffer& image,
    const std::function<dnnl::primitive_desc_base(const memory::desc&)>& describe,
    const std::vector<Argument>& inputs, const std::vector<Argument>& outputs) {
  const memory::desc desc = image_layout(image, describe);
  return std::make_unique<Primitive>([&] { return describe(desc); }, inputs, outputs);
}

memory::dims padding_after(const Buffer& x, const Buffer& y, const std::array<int64_t, 2>& kernel,
                           const std::array<int64_t, 2>& stride,
                           const std::array<int64_t, 2>& padding,
                           const std::array<int64_t, 2>& dilation) {
  memory::dims after;
  for (const std::size_t axis : {0U, 1U}) {
    const int64_t reach = dilation[axis] * (kernel[axis] - 1) + 1;
    after.push_back((y.sizes[axis + 2] - 1) * stride[axis] + reach - x.sizes[axis + 2] -
                    padding[axis]);
  }
  return after;
}

}  // namespace fathom::ops::onednn
