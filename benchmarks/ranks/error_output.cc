#include "benchmarks/ranks/error_output.h"

#include <chrono>
#include <thread>

namespace fathom::benchmarks {

std::string ErrorOutput::prefix() const {
  const bool is_named = place && place->rank > 0;
  return "fathom_bench: " + (is_named ? "rank " + std::to_string(place->rank) + ": " : "");
}

bool ErrorOutput::is_silent() const {
  if (!place || shared == Shared::kByNone) return false;
  if ((shared == Shared::kByAll ? place->rank : place->local_rank) == 0) return false;
  std::this_thread::sleep_for(std::chrono::seconds(3));
  return shared == Shared::kByAll;  // on this host, the first rank may be without the error
}

}  // namespace fathom::benchmarks
