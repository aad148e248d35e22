#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace fathom::ops {

/// Calls run(task) for each task in 0 .. tasks - 1 on up to `threads` threads. A thread takes the
/// next task when it is done with one: for tasks that differ in length, the longest ones first.
template <typename Run>
void run_on_idle_threads(int64_t threads, int64_t tasks, const Run& run) {
  std::atomic<int64_t> next = 0;
  at::parallel_for(0, std::min(threads, tasks), 1, [&](int64_t /*begin*/, int64_t /*end*/) {
    for (int64_t task = next++; task < tasks; task = next++) run(task);
  });
}

}  // namespace fathom::ops
