#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fathom::benchmarks {

/// Limits of a child process.
struct Limits {
  double seconds;
  double bytes;             ///< of its private memory
  std::string bytes_are{};  ///< where that number comes from, for messages
};

/// How a child process ended.
struct ChildExit {
  int code = -1;       ///< its exit code; -1 after a signal or over a limit
  std::string reason;  ///< the signal or the limit; else empty
};

/// Runs this program with other arguments and waits for it. Its stdout goes to /dev/null, its
/// stderr to the file `errors`. The child is killed when this process ends. `tick` is called once a
/// second. Throws std::runtime_error where no process can be started.
ChildExit run_child(const std::vector<std::string>& arguments, const std::string& errors,
                    const Limits& limits, const std::function<void()>& tick);

}  // namespace fathom::benchmarks
