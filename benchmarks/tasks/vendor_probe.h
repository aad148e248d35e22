#pragma once

#include <string>

#include "benchmarks/tasks/op_task.h"

namespace fathom::benchmarks {

/// The message with which a vendor's library refuses ops of the row's type and pass on a device and
/// in a precision: ops::NotSupported for all of the type's examples. Empty where it runs one of
/// them, or where one fails for another reason. The first call for them runs the examples, later
/// ones return the same text.
const std::string& vendor_refusal(const ops::ShapeRow& row, const OpOptions& options);

}  // namespace fathom::benchmarks
