#pragma once

#include <functional>
#include <span>
#include <string>

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

/// An option that a preset (--fathom_explain, --fathom_study) settles itself, and why.
struct Settled {
  const char* flag;
  const char* why;
};

/// Whether an option of ours was typed.
using Given = std::function<bool(const char*)>;

/// Throws UsageError for the first of `settled` that was typed beside `preset`.
void refuse_beside(const std::string& preset, std::span<const Settled> settled, const Given& given);

/// Whether one of Google Benchmark's flags was typed or set in the environment.
bool google_benchmark_has(const Options& options, const char* flag, const char* variable);

/// A short --benchmark_min_time for each of many rows, where nobody asked for another.
void shorten_rows(Options& options);

}  // namespace fathom::benchmarks
