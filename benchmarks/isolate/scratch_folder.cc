#include "benchmarks/isolate/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace fathom::benchmarks {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "fathom_bench.";

/// A descriptor that holds the folder's lock; -1 where somebody else does.
int locked(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 || flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  close(descriptor);
  return -1;
}

void remove_left_over(const fs::path& temporary) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(temporary, none)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    const int lock = locked(entry.path());
    if (lock < 0) continue;
    fs::remove_all(entry.path(), none);
    close(lock);
  }
}

}  // namespace

ScratchFolder::ScratchFolder() {
  const fs::path temporary = fs::temp_directory_path();
  remove_left_over(temporary);
  // Nobody takes it for left over before it is locked.
  std::string hidden = (temporary / (std::string(".") + kPrefix + "XXXXXX")).string();
  if (mkdtemp(hidden.data()) == nullptr)
    throw std::runtime_error("scratch folder " + hidden + ": " + std::strerror(errno));
  lock_ = locked(hidden);
  folder_ = temporary / fs::path(hidden).filename().string().substr(1);
  fs::rename(hidden, folder_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code left_over;
  fs::remove_all(folder_, left_over);
  if (lock_ >= 0) close(lock_);
}

}  // namespace fathom::benchmarks
