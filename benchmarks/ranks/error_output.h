#pragma once

#include <optional>
#include <string>

#include "fixtures/ranks/place.h"

namespace fathom::benchmarks {

/// The ranks of a launcher that have the error which is found now.
enum class Shared { kByNone, kByHost, kByAll };

/// How this process prints errors: one that several ranks share is printed once.
struct ErrorOutput {
  std::optional<fixtures::Place> place;  ///< under a launcher
  Shared shared = Shared::kByAll;

  /// What each line on stderr begins with: "fathom_bench: rank 1: ".
  std::string prefix() const;

  /// Whether this rank leaves an error to the first rank that shares it. Such a rank waits 3 s
  /// before it returns: when one rank ends, a launcher ends all others, and the first rank must
  /// have printed the error by then.
  bool is_silent() const;
};

}  // namespace fathom::benchmarks
