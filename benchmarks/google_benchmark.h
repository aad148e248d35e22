#pragma once

// What differs between Google Benchmark 1.7.1 (Debian 12) and current releases, in one place.

#include <benchmark/benchmark.h>

namespace fathom::benchmarks {

/// A run without a measurement: 1.7.1 has only errors, later releases also skips.
template <typename Run>
bool failed(const Run& run) {
  if constexpr (requires { run.error_occurred; }) {
    return run.error_occurred;
  } else {
    return static_cast<bool>(run.skipped);
  }
}

/// Why it has none.
template <typename Run>
const std::string& failure(const Run& run) {
  if constexpr (requires { run.error_message; }) {
    return run.error_message;
  } else {
    return run.skip_message;
  }
}

/// Makes it a run without a measurement.
template <typename Run>
void fail(Run& run, const std::string& why) {
  if constexpr (requires { run.error_occurred; }) {
    run.error_occurred = true;
    run.error_message = why;
  } else {
    run.skipped = static_cast<decltype(run.skipped)>(2);  // SkippedWithError, unknown to 1.7.1
    run.skip_message = why;
  }
}

}  // namespace fathom::benchmarks
