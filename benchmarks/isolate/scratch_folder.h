#pragma once

#include <filesystem>
#include <string>

namespace fathom::benchmarks {

/// A temporary folder, removed at destruction. The next process removes the folder of a process
/// that was killed.
class ScratchFolder {
 public:
  /// Throws std::runtime_error where it cannot be made.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path(const char* name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
  int lock_;  ///< the folder, open and locked; the kernel closes it when the process ends
};

}  // namespace fathom::benchmarks
