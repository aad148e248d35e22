#pragma once

#include <string>

namespace fathom::ops::onednn {

/// Version of the oneDNN that backend:onednn calls, not of LibTorch's own; empty where built
/// without.
std::string version();

}  // namespace fathom::ops::onednn
