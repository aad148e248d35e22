#include "benchmarks/output/files/output_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "benchmarks/error.h"
#include "benchmarks/google_benchmark.h"
#include "fixtures/files/file.h"
#include "fixtures/files/text.h"
#include "fixtures/files/written_file.h"

namespace fathom::benchmarks {
namespace {

const std::string& host_name() { return benchmark::SystemInfo::Get().name; }

/// "process 123", with its host where that is another one.
std::string holder(const std::string& lock) {
  const std::string text = fixtures::first_line(fixtures::text_of_file(lock));
  const auto parts = fixtures::pieces(text);
  if (parts.size() != 2 || !fixtures::number(parts[0])) return "another process";
  std::string words = "process " + std::string(parts[0]);
  if (parts[1] != host_name()) words += " on " + std::string(parts[1]);
  return words;
}

/// Whether the path still leads to the open file, which its last holder may have removed.
bool is_at(int descriptor, const std::string& path) {
  struct stat one {};
  struct stat other {};
  return fstat(descriptor, &one) == 0 && stat(path.c_str(), &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

OutputLock::OutputLock(const std::string& flag, const std::string& path) {
  if (path.empty() || !fixtures::is_plain_file(path)) return;
  lock_ = fixtures::link_target(path) + ".lock";
  for (bool is_ours = false; !is_ours;) {
    descriptor_ = open(lock_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) return;
    if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) {
      is_ours = is_at(descriptor_, lock_);
      if (!is_ours) close(descriptor_);
    } else if (errno == EWOULDBLOCK) {
      close(descriptor_);
      std::string why = flag;
      why.append("=").append(path).append(": ").append(holder(lock_));
      throw UsageError(why + " writes this file; expected another file, or a start after its end");
    } else {
      is_ours = true;  // no locks here, as on some network file systems
    }
  }
  const std::string text = std::to_string(getpid()) + ' ' + host_name() + '\n';
  if (ftruncate(descriptor_, 0) != 0 || write(descriptor_, text.data(), text.size()) < 0) return;
}

OutputLock::~OutputLock() {
  if (descriptor_ < 0) return;
  unlink(lock_.c_str());
  close(descriptor_);
}

}  // namespace fathom::benchmarks
