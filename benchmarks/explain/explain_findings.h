#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/explain/explain.h"

namespace fathom::benchmarks {

/// A way to shorten the step, with the numbers that show it.
struct Finding {
  std::string_view kind;  ///< "kernel", "memory", "between_ops", "host" or "in_step"
  double saving_us;       ///< of a step, above 0
  bool at_most;           ///< the saving is an upper bound
  std::string words;
};

/// The findings with the largest savings, best first, at most `count`. Each holds without the time
/// that others may have taken; none rests on times that contradict each other.
std::vector<Finding> findings(const Explanation& explanation, std::size_t count = 3);

/// The host's share of a step on a GPU, as a sentence; empty where it is not known.
std::string host_sentence(const Explanation& explanation);

/// Whether others took CPU time that changes a finding.
bool is_disturbed(const Explanation& explanation);

/// Sentences for the reader of the table: which times contradict each other, and what share of the
/// times others took. Empty where there is nothing to warn of.
std::vector<std::string> warnings(const Explanation& explanation);

}  // namespace fathom::benchmarks
