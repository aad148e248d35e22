#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "fixtures/precision.h"

namespace fathom::ops::onednn {

/// The CPU engine, one for the process.
const dnnl::engine& engine();

dnnl::memory::data_type data_type(fixtures::Precision precision);

/// A view of the caller's buffer, which is only read.
dnnl::memory wrapped(const dnnl::memory::desc& layout, const void* data);

/// `data` in the layout `wanted`: a view where it already lies so, else a reordered copy.
dnnl::memory reordered(const dnnl::memory::desc& layout, const void* data,
                       const dnnl::memory::desc& wanted, dnnl::stream& stream);

}  // namespace fathom::ops::onednn
