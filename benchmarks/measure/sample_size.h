#pragma once

#include <cstdint>
#include <functional>

namespace fathom::benchmarks {

/// Runs steps without a wait between them, waits for the last one, and returns the seconds of all.
using Burst = std::function<double(int64_t steps)>;

/// The number of steps whose burst takes at least `shortest` seconds, found with a few bursts. A
/// step that is waited for alone takes much longer on a GPU than one in a burst.
int64_t steps_per_sample(double shortest, const Burst& burst);

/// Whether so many samples bound the percentile that `share` of all times do not exceed: the
/// largest one is not below it with a confidence of 95 %, whatever the distribution. A median takes
/// 5, a 95th percentile 59.
bool bound_percentile(int64_t samples, double share);

}  // namespace fathom::benchmarks
