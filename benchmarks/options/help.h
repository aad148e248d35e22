#pragma once

#include <string>

namespace fathom::benchmarks {

/// The text of --help, at most 80 columns wide.
std::string options_help();

/// Throws UsageError for an argument that is neither ours nor Google Benchmark's; names the nearest
/// known one.
[[noreturn]] void refuse_argument(const std::string& argument);

}  // namespace fathom::benchmarks
