#pragma once

#include <span>
#include <string>

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

/// An option that cannot stand beside a preset (--fathom_explain, --fathom_study), and why.
struct Conflict {
  const char* flag;
  const char* why;
};

/// Throws UsageError for the first of `conflicts` that was typed beside `preset`.
void refuse_conflicts(const std::string& preset, std::span<const Conflict> conflicts,
                      const Options& options);

/// Whether one of Google Benchmark's flags was typed or set in the environment.
bool google_benchmark_has(const Options& options, const char* flag, const char* variable);

/// Sets a short --benchmark_min_time where the user set none: a preset has many rows.
void shorten_rows(Options& options);

}  // namespace fathom::benchmarks
