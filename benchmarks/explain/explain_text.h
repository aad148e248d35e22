#pragma once

#include <string>

#include "benchmarks/explain/explain.h"

namespace fathom::benchmarks {

/// Three significant digits, no exponent.
std::string significant(double value);

/// Its ops' types and passes, each once: "conv2d", "dgrad+wgrad".
std::string line_type(const ExplainedLine& line);
std::string line_passes(const ExplainedLine& line);

/// A table of the step's ops, its sums and what would save most, as plain text.
std::string explanation_text(const Explanation& explanation);

}  // namespace fathom::benchmarks
