#pragma once

#include <stdexcept>

namespace fathom::benchmarks {

/// Of the program.
enum ExitCode {
  kOk = 0,
  kUsage = 2,
  kNothingMatched = 3,
  kBenchmarkFailed = 4,
  kProgramFailed = 5  ///< a full disk, no memory, a fault of the program
};

/// Wrong usage or set-up: main() prints the message as one line and exits with kUsage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A rank without which the others cannot go on has ended, or does not answer.
class RankLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace fathom::benchmarks
