#include "benchmarks/isolate/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "benchmarks/error.h"

namespace fathom::benchmarks {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "fathom_bench.";

fs::path temporary_folder() {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  if (error) throw UsageError("TMPDIR: " + error.message() + ", expected a folder");
  return folder;
}

/// Opens and locks a folder; -1 where another process holds the lock.
int lock_folder(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 || flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  close(descriptor);
  return -1;
}

/// Removes the folders of processes that were killed.
void remove_stale_folders(const fs::path& temporary) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(temporary, ignored)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    const int lock = lock_folder(entry.path());
    if (lock < 0) continue;
    fs::remove_all(entry.path(), ignored);
    close(lock);
  }
}

}  // namespace

ScratchFolder::ScratchFolder() {
  const fs::path temporary = temporary_folder();
  remove_stale_folders(temporary);
  // The hidden name keeps other processes from removing the folder before it is locked.
  std::string hidden = temporary.string() + "/." + kPrefix + "XXXXXX";
  if (mkdtemp(hidden.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), "scratch folder " + hidden);
  lock_ = lock_folder(hidden);
  folder_ = temporary / fs::path(hidden).filename().string().substr(1);
  fs::rename(hidden, folder_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace fathom::benchmarks
