#pragma once

#include <cstdint>
#include <functional>

namespace fathom::benchmarks {

/// Runs steps without a wait between them, waits for the last one, and returns the seconds of all.
using Burst = std::function<double(int64_t steps)>;

/// The number of steps whose burst takes at least `shortest` seconds, found with a few bursts. A
/// step that is waited for alone takes much longer on a GPU than one in a burst.
int64_t steps_per_sample(double shortest, const Burst& burst);

}  // namespace fathom::benchmarks
