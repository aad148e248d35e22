#pragma once

#include <string>

#include "benchmarks/explain/explain.h"

namespace fathom::benchmarks {

/// Three significant digits, no exponent.
std::string significant(double value);

/// The types and passes of its ops, each once: "conv2d", "dgrad+wgrad".
std::string line_type(const ExplainedLine& line);
std::string line_passes(const ExplainedLine& line);
/// Types, layers and passes: "conv2d/conv1/dgrad+wgrad".
std::string line_name(const ExplainedLine& line);

/// The warnings, a table of the step's ops, its sums and the findings, as plain text.
std::string explanation_text(const Explanation& explanation);

}  // namespace fathom::benchmarks
