#include "benchmarks/options/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace fathom::benchmarks {
namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// Edits that turn `typed` into the closest substring of `text` (Sellers 1980).
std::size_t distance_within(std::string_view typed, std::string_view text) {
  std::vector<std::size_t> column(typed.size() + 1);
  std::iota(column.begin(), column.end(), std::size_t{0});
  std::size_t best = column.back();
  for (const char letter : text) {
    std::size_t diagonal = column[0];
    for (std::size_t i = 1; i <= typed.size(); ++i) {
      const std::size_t substituted = diagonal + (same_letter(typed[i - 1], letter) ? 0 : 1);
      diagonal = column[i];
      column[i] = std::min({substituted, column[i] + 1, column[i - 1] + 1});
    }
    best = std::min(best, column.back());
  }
  return best;
}

}  // namespace

std::vector<std::string> nearest(std::string_view typed, const std::vector<std::string>& candidates,
                                 std::size_t count) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const auto& candidate : candidates) {
    const std::size_t distance = distance_within(typed, candidate);
    if (distance <= (typed.size() + 2) / 3) ranked.emplace_back(distance, candidate);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> best;
  for (std::size_t i = 0; i < std::min(count, ranked.size()); ++i) best.push_back(ranked[i].second);
  return best;
}

}  // namespace fathom::benchmarks
