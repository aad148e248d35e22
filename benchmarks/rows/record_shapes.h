#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// The device on which the shapes of a workload are recorded: the CPU where `rows` run it there. No
/// value where they don't run it.
std::optional<fixtures::Device> recording_device(const std::vector<Row>& rows,
                                                 std::string_view workload);

/// Runs a training step and an inference step of each workload in `rows`, on recording_device() in
/// fp32 with all usable cores, and writes the ops that they ran to <directory>/<workload>.json.
/// Calls `note` with a status line for each workload. Returns whether there is one. Throws
/// UsageError for a file that cannot be written.
bool record_shapes(const std::vector<Row>& rows, const std::string& directory,
                   const std::function<void(const std::string&)>& note);

}  // namespace fathom::benchmarks
