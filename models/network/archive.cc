#include "models/network/archive.h"

#include <c10/core/CPUAllocator.h>
#include <caffe2/serialize/inline_container.h>

#include <nlohmann/json.hpp>

#include "fixtures/files/data_error.h"
#include "fixtures/files/file.h"
#include "fixtures/files/text.h"
#include "fixtures/files/zip.h"

namespace fathom::models {
namespace {

/// "reading zip archive: failed finding central directory": LibTorch's text goes on with advice.
std::string reason(const c10::Error& error) {
  std::string text = fixtures::first_line(error.what_without_backtrace());
  text = text.substr(0, text.find(". "));
  constexpr std::string_view kPrefix = "PytorchStreamReader failed ";
  if (text.starts_with(kPrefix)) text.erase(0, kPrefix.size());
  return text;
}

}  // namespace

Archive::Archive(std::string path) : path_(std::move(path)) {
  fixtures::expect_file(path_);
  try {
    reader_ = std::make_unique<caffe2::serialize::PyTorchStreamReader>(path_);
  } catch (const c10::Error& error) {
    fail("not a whole zip archive (" + reason(error) + ')');
  }
}

Archive::~Archive() = default;

ArchiveKind Archive::kind() const {
  constexpr std::string_view kVersion = "0";  // ARCHIVE_VERSION_VALUE of torch/export/pt2_archive
  if (has("archive_version")) {
    const auto version = bytes("archive_version");
    const std::string_view found(version.data(), version.size());
    if (found != kVersion)
      fail("an archive of version " + std::string(found) + ", expected 0, that of PyTorch 2.11");
  }
  const auto models = names_in("models/", ".json");
  if (models.size() == 1) return ArchiveKind::kExportedProgram;
  if (models.size() > 1) {
    std::string names;
    for (const auto& name : models) names.append(names.empty() ? "" : ", ").append(name);
    fail("holds " + fixtures::counted(std::ssize(models), "model") + " (" + names +
         "), expected one: save each to its own file");
  }
  if (!names_in("data/aotinductor/", "").empty()) return ArchiveKind::kCompiled;
  if (has("constants.pkl")) return ArchiveKind::kTorchScript;
  if (has("serialized_exported_program.json"))
    fail("in the format of PyTorch before 2.8; export the network again with a newer one");
  if (has("data.pkl")) fail("holds what torch.save wrote, which only Python can run");
  fail("an archive without a network");
}

std::string Archive::id() const { return reader_->serializationId(); }

bool Archive::has(const std::string& member) const { return reader_->hasRecord(member); }

std::vector<std::string> Archive::names_in(const std::string& folder,
                                           const std::string& ending) const {
  std::vector<std::string> names;
  for (const auto& member : members()) {
    if (!member.starts_with(folder) || !member.ends_with(ending)) continue;
    names.push_back(member.substr(folder.size(), member.size() - folder.size() - ending.size()));
  }
  return names;
}

std::vector<std::string> Archive::members() const {
  try {
    return reader_->getAllRecords();
  } catch (const c10::Error& error) {
    fail("not a whole zip archive (" + reason(error) + ')');
  }
}

std::vector<char> Archive::bytes(const std::string& member) const {
  const c10::Storage data = storage(member);
  const char* begin = static_cast<const char*>(data.data());
  return {begin, begin + data.nbytes()};
}

nlohmann::json Archive::json(const std::string& member) const {
  const std::vector<char> text = bytes(member);
  auto parsed = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) fail(member + " is not JSON");
  return parsed;
}

c10::Storage Archive::storage(const std::string& member) const {
  if (!has(member)) fail("lacks " + member);
  try {
    auto [data, size] = reader_->getRecord(member);
    return {c10::Storage::use_byte_size_t(), size, std::move(data), c10::GetCPUAllocator(),
            /*resizable=*/false};
  } catch (const c10::Error& error) {
    fail(member + " is damaged (" + reason(error) + ')');
  }
}

void Archive::expect_intact(const std::string& member) const {
  // PyTorch's reader knows the folder of the members and tells nobody.
  const auto bytes = fixtures::open_zip_member(path_, '/' + member);
  bytes->skip(bytes->left());
}

void Archive::fail(const std::string& found) const {
  constexpr const char* kExpected =
      ", expected a file of torch.export.save, torch.jit.save or AOTInductor";
  const bool says = found.find(", expected ") != std::string::npos;
  throw fixtures::DataError(path_ + ": " + found + (says ? "" : kExpected));
}

}  // namespace fathom::models
