#pragma once

#include <span>
#include <string>

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

/// An option that a preset (--fathom_explain, --fathom_study) or a mode excludes, and why.
struct Conflict {
  const char* flag;
  const char* why;
};

/// Throws UsageError for the first of `conflicts` on the command line; `preset` is the option that
/// excludes it.
void refuse_conflicts(const std::string& preset, std::span<const Conflict> conflicts,
                      const Options& options);

/// Whether the command line or the environment sets one of Google Benchmark's flags.
bool google_benchmark_has(const Options& options, const char* flag, const char* variable);

/// Sets a short --benchmark_min_time unless the user set one: presets have many rows.
void shorten_rows(Options& options);

}  // namespace fathom::benchmarks
