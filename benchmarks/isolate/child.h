#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fathom::benchmarks {

/// Limits of a child process.
struct Limits {
  double seconds;
  double bytes;  ///< of memory that no other process shares
};

/// How a child process ended.
struct Ended {
  int code = -1;       ///< its exit code; -1 where it did not come to one
  std::string reason;  ///< why it did not: a signal or a limit
};

/// Runs this program again, without a terminal: stdout is dropped, stderr goes to the file
/// `errors`. The child dies with this process. `tick` is called once a second. Throws
/// std::runtime_error where no process can be started.
Ended run_child(const std::vector<std::string>& arguments, const std::string& errors,
                const Limits& limits, const std::function<void()>& tick);

}  // namespace fathom::benchmarks
