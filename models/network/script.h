#pragma once

#include <memory>

#include "models/network/archive.h"
#include "models/network/network.h"

namespace fathom::models {

/// The network in a file of torch.jit.save. It runs as it was traced or scripted, without the
/// optimizations of TorchScript's executor. Throws fixtures::DataError.
std::unique_ptr<Network> read_script(const Archive& archive,
                                     const std::optional<c10::IValue>& arguments);

}  // namespace fathom::models
