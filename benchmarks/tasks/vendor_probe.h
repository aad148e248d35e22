#pragma once

#include <string>

#include "benchmarks/tasks/op_task.h"

namespace fathom::benchmarks {

/// The message with which a vendor's library refuses ops of the row's type and pass on a device and
/// in a precision; empty where it runs one of the type's examples. The first call for them runs the
/// examples, later ones return the same text.
const std::string& vendor_refusal(const ops::ShapeRow& row, const OpOptions& options);

}  // namespace fathom::benchmarks
