#pragma once

#include <memory>

#include "models/network/archive.h"
#include "models/network/network.h"

namespace fathom::models {

/// The network in a file of torch.export.save (PyTorch 2.8 or newer). Throws fixtures::DataError.
std::unique_ptr<Network> read_exported_program(const Archive& archive,
                                               const std::optional<c10::IValue>& arguments);

}  // namespace fathom::models
