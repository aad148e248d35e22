#pragma once

#include <chrono>
#include <cmath>
#include <string>

namespace fathom::benchmarks {

// The keys of the store through which ranks meet, and the names of the groups that they form.

/// Set by a rank: its RankFacts.
inline std::string facts_key(int rank) { return "rank/" + std::to_string(rank); }

/// Set by rank 0 when all have come: why the run ends, or nothing.
inline constexpr const char* kRefusalKey = "refusal";

/// Set by a rank that has read the refusal.
inline std::string refused_key(int rank) { return facts_key(rank) + "/refused"; }

inline constexpr const char* kControlGroup = "control";  ///< of all ranks, for messages

/// The group of the `number`th row with ranks.
inline std::string group_name(int64_t number) { return "group" + std::to_string(number); }

inline std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1e3));
}

}  // namespace fathom::benchmarks
