#pragma once

#include <c10/core/Storage.h>

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace caffe2::serialize {
class PyTorchStreamReader;
}

namespace fathom::models {

/// What an archive of PyTorch holds.
enum class ArchiveKind {
  kExportedProgram,  ///< of torch.export.save
  kTorchScript,      ///< of torch.jit.save
  kCompiled,         ///< of torch._inductor.aoti_compile_and_package
};

/// A zip archive that PyTorch has written. The names of its members are without its own folder. All
/// members of this class throw fixtures::DataError where the archive is cut or damaged or lacks
/// what is asked for.
class Archive {
 public:
  explicit Archive(std::string path);
  ~Archive();

  const std::string& path() const { return path_; }
  ArchiveKind kind() const;
  /// A hash that the writer made of the names and checksums of all members.
  std::string id() const;

  bool has(const std::string& member) const;
  /// The names of the members in `folder` ("models/") that end with `ending`, without both.
  std::vector<std::string> names_in(const std::string& folder, const std::string& ending) const;

  std::vector<char> bytes(const std::string& member) const;
  nlohmann::json json(const std::string& member) const;
  c10::Storage storage(const std::string& member) const;

  /// Compares the bytes of a member with their checksum, which PyTorch's reader does not.
  void expect_intact(const std::string& member) const;

  /// Throws DataError: the path, `found` and what was expected, as one line.
  [[noreturn]] void fail(const std::string& found) const;

 private:
  std::vector<std::string> members() const;

  std::string path_;
  std::unique_ptr<caffe2::serialize::PyTorchStreamReader> reader_;
};

}  // namespace fathom::models
