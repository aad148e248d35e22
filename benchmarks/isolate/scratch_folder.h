#pragma once

#include <filesystem>
#include <string>

namespace fathom::benchmarks {

/// A temporary folder, removed at destruction. A process that was killed leaves its folder to the
/// next one, which removes it.
class ScratchFolder {
 public:
  /// Throws std::runtime_error where there is no room for it.
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path(const char* name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
  int lock_;  ///< a descriptor, which a kill closes
};

}  // namespace fathom::benchmarks
