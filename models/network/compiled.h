#pragma once

#include "models/network/archive.h"
#include "models/network/network.h"
#include "models/table.h"

namespace fathom::models {

/// For what a package of AOTInductor was compiled. Throws fixtures::DataError where this machine
/// cannot run it.
Compilation read_compilation(const Archive& archive);

/// The network in a package of AOTInductor, whose kernels run in place of LibTorch's. Its module
/// has no parameters: the weights are part of its code. Throws as read_network().
std::unique_ptr<Network> read_compiled(const Archive& archive,
                                       const std::optional<c10::IValue>& arguments);

}  // namespace fathom::models
