#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "benchmarks/google_benchmark.h"

namespace fathom::benchmarks {

/// The entries of a --benchmark_out document, as Google Benchmark reported them; `family` numbers
/// their benchmark. Throws nlohmann::json::exception.
std::vector<benchmark::BenchmarkReporter::Run> runs_of(const nlohmann::json& document,
                                                       int64_t family);

}  // namespace fathom::benchmarks
