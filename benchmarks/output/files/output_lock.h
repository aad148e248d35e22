#pragma once

#include <string>

namespace fathom::benchmarks {

/// Keeps other runs from writing a plain file while it exists: a lock on `<path>.lock`, which holds
/// the id of this process. The lock of a killed process is free, whatever its file says. Where the
/// folder takes no file, or its file system has no locks, there is no lock.
class OutputLock {
 public:
  /// Throws UsageError where another process has locked `path`, which is a value of `flag`.
  OutputLock(const std::string& flag, const std::string& path);
  ~OutputLock();
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;

 private:
  std::string lock_;  ///< the path of the lock
  int descriptor_ = -1;
};

}  // namespace fathom::benchmarks
