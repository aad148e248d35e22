#include "benchmarks/options/files.h"

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "benchmarks/error.h"
#include "benchmarks/options/option.h"
#include "fixtures/files/written_file.h"

namespace fathom::benchmarks {
namespace {

namespace fs = std::filesystem;

/// A file that an option names, or one beside it.
struct NamedFile {
  std::string option;  ///< with its value
  std::string path;
};

/// The files of options that are read or written.
std::vector<NamedFile> files_of(OptionRules::File use, const Options& options) {
  std::vector<NamedFile> files;
  for (const auto& option : option_table()) {
    // A resumed run may take the peaks of its own file.
    if (option.rules.file != use || (options.resume && option.flag == "--fathom_peaks")) continue;
    for (const auto& path : option.value.words(options)) {
      if (!path.empty()) files.push_back({option.flag + '=' + path, path});
    }
  }
  return files;
}

std::vector<NamedFile> written(const Options& options) {
  std::vector<NamedFile> files = files_of(OptionRules::File::kOutput, options);
  if (options.out.empty()) return files;
  for (const char* end : {"", ".part", ".lock", ".errors.jsonl", ".kernels.json", ".explain.json"})
    files.push_back({"--benchmark_out=" + options.out, options.out + end});
  return files;
}

/// Whether both are one file, which need not exist yet. A pipe or a device may take several
/// outputs.
bool are_one(const NamedFile& a, const NamedFile& b) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::absolute(a.path), error);
  if (error) return false;  // who opens the file says why
  const fs::path other = fs::weakly_canonical(fs::absolute(b.path), error);
  return !error && path == other && (!fs::exists(path, error) || fs::is_regular_file(path, error));
}

}  // namespace

void refuse_shared_files(const Options& options) {
  const std::vector<NamedFile> outputs = written(options);
  std::vector<NamedFile> files = files_of(OptionRules::File::kInput, options);
  for (const auto& output : outputs) {
    for (const auto& file : files) {
      if (are_one(file, output)) {
        throw UsageError(file.option + ": " + output.option +
                         " writes this file; expected another one");
      }
    }
    files.push_back(output);
  }
}

void open_output(const std::string& option, const std::string& path,
                 const std::function<void()>& open) {
  try {
    open();
  } catch (const std::system_error& error) {
    const int why = error.code().value();
    if (why == ENOSPC || why == EDQUOT) throw;
    throw UsageError(option + ": cannot be written (" + fixtures::write_error(path, why) + ")");
  }
}

}  // namespace fathom::benchmarks
