#pragma once

#include <stdexcept>

namespace fathom::benchmarks {

/// Of the program.
enum ExitCode { kOk = 0, kUsage = 2, kNothingMatched = 3, kBenchmarkFailed = 4 };

/// Wrong usage or set-up: main() prints the message as one line and exits with kUsage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace fathom::benchmarks
