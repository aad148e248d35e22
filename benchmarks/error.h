#pragma once

#include <stdexcept>

namespace fathom::benchmarks {

/// Wrong usage or set-up: one line for the user, exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace fathom::benchmarks
