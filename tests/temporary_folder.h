#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace fathom::tests {

/// A temporary folder that the destructor removes. Two folders at the same time need two names.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name = "test")
      : path_(std::filesystem::temp_directory_path() /
              ("fathom_" + name + '_' + std::to_string(getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Writes `bytes` to the file `name` in the folder and creates parent folders. Returns its path.
  std::filesystem::path write(const std::string& name, std::span<const uint8_t> bytes) const {
    auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::remove(file);  // ext4 flushes an overwritten file to the disk
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return file;
  }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    return write(name, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace fathom::tests
