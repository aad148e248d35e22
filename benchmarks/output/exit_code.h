#pragma once

#include <exception>
#include <string>

#include "benchmarks/error.h"

namespace fathom::benchmarks {

/// Of a run that ends with this exception: kUsage for arguments, inputs and set-up that cannot be
/// used, kBenchmarkFailed for a lost rank, else kProgramFailed.
ExitCode exit_code(const std::exception& error);

/// The line that says why.
std::string last_line(const std::exception& error);

}  // namespace fathom::benchmarks
