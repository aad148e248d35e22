#include "benchmarks/output/json_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "benchmarks/error.h"

namespace fathom::benchmarks {
namespace {

/// Throws std::runtime_error with the reason.
void write_file(const std::string& path, const std::string& text) {
  const auto fail = [&] { throw std::runtime_error(path + ": " + std::strerror(errno)); };
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail();
  const char* from = text.data();
  std::size_t left = text.size();
  bool good = true;
  while (good && left > 0) {
    const ssize_t written = write(file, from, left);
    good = written >= 0 || errno == EINTR;
    if (written > 0) from += written, left -= static_cast<std::size_t>(written);
  }
  // Without the flush, a rename can reach the disk before the data does.
  good = good && (fsync(file) == 0 || errno == EINVAL);
  const int reason = errno;
  close(file);
  errno = reason;
  if (!good) fail();
}

std::string part_of(const std::string& path) { return path + ".part"; }

}  // namespace

void replace_file(const std::string& path, const std::string& text) {
  const std::string part = part_of(path);
  try {
    write_file(part, text);
  } catch (const std::runtime_error&) {
    unlink(part.c_str());  // frees the space on a full disk
    throw;
  }
  if (std::rename(part.c_str(), path.c_str()) != 0) {
    throw std::runtime_error(path + ": " + std::strerror(errno));
  }
}

bool is_plain_file(const std::string& path) {
  std::error_code ignored;
  return !std::filesystem::exists(path, ignored) || std::filesystem::is_regular_file(path, ignored);
}

JsonFile::JsonFile(const std::string& path) : path_(path), part_(path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path target =
      fs::weakly_canonical(path, ignored);  // a link keeps pointing at the results
  if (!ignored) path_ = target.string();
  if (fs::is_directory(path_, ignored))
    throw UsageError("--benchmark_out=" + path + ": is a directory, expected a file");
  // A pipe or a device cannot be replaced; each state of the file is written to it.
  part_ = is_plain_file(path_) ? part_of(path_) : path_;
  try {
    if (part_ != path_) write_file(part_, "");
  } catch (const std::runtime_error& error) {
    throw UsageError("--benchmark_out=" + path + ": cannot be written (" + error.what() + ")");
  }
}

JsonFile::~JsonFile() {
  if (part_ != path_) unlink(part_.c_str());  // there is one if no row was written
}

void JsonFile::begin(const benchmark::BenchmarkReporter::Context& context,
                     const std::string& rows) {
  writer_.SetOutputStream(&text_);
  writer_.SetErrorStream(&text_);
  writer_.ReportContext(context);
  std::ostringstream closing;
  writer_.SetOutputStream(&closing);
  writer_.Finalize();
  closing_ = closing.str();
  writer_.SetOutputStream(&text_);
  if (!rows.empty()) text_ << rows << ",\n";  // nothing is written before the next row
}

void JsonFile::add(const std::vector<benchmark::BenchmarkReporter::Run>& runs) {
  if (runs.empty()) return;
  writer_.ReportRuns(runs);
  replace();
}

void JsonFile::replace() {
  if (part_ == path_) {
    write_file(path_, text_.str() + closing_);
  } else {
    replace_file(path_, text_.str() + closing_);
  }
}

}  // namespace fathom::benchmarks
