#pragma once

#include <stdexcept>

namespace fathom::benchmarks {

/// Wrong usage or set-up: main() prints the message as one line and exits with 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace fathom::benchmarks
