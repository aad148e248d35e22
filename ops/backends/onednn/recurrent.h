#pragma once

#include "ops/backends/onednn/dnnl.h"
#include "ops/core/problem.h"

namespace fathom::ops::onednn {

// oneDNN's tensors of recurrent layers have dimensions for layers and directions; both are 1 here.

/// The descriptor of a state [N, H].
dnnl::memory::desc state(const Buffer& buffer);

/// The same extents in the type `type`; the primitive chooses the layout.
dnnl::memory::desc any(const dnnl::memory::desc& desc, dnnl::memory::data_type type);

/// The descriptor of a gradient: oneDNN computes gradients in fp32.
dnnl::memory::desc gradient(const dnnl::memory::desc& desc);

dnnl::memory zeros(const dnnl::memory::desc& desc);

}  // namespace fathom::ops::onednn
