#include "benchmarks/output/context/loaded_libraries.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "fixtures/content_hash.h"

namespace fathom::benchmarks {
namespace {

namespace fs = std::filesystem;

/// Those that are loaded from the start, so that the list is the same at every time of a run.
constexpr std::array<std::string_view, 10> kStarts{
    "libc.so",   "libc10.", "libdnnl.",     "libgomp",      "libm.so",
    "libiomp5.", "libomp.", "libstdc++.so", "libtorch_cpu", "libopenblas"};

constexpr std::size_t kShort = 8;  // hexadecimal digits, enough to tell builds apart

struct Loaded {
  std::string path;  ///< empty: the program itself
  std::string build_id;
};

std::size_t padded(std::size_t size) { return (size + 3) / 4 * 4; }

/// The build id in a segment of notes (man 5 elf); empty where there is none.
std::string build_id(std::span<const char> notes) {
  std::size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= notes.size()) {
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(notes.data() + at);
    const std::size_t name = at + sizeof *note;
    const std::size_t content = name + padded(note->n_namesz);
    at = content + padded(note->n_descsz);
    if (at > notes.size()) break;
    if (note->n_type != NT_GNU_BUILD_ID || std::string_view(notes.data() + name, 3) != "GNU")
      continue;
    std::string id;
    for (std::size_t i = 0; i < note->n_descsz; ++i) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(notes[content + i]));
      id += digits;
    }
    return id;
  }
  return {};
}

int add(dl_phdr_info* info, std::size_t /*size*/, void* to) {
  Loaded one{.path = info->dlpi_name, .build_id = {}};
  for (int i = 0; i < info->dlpi_phnum && one.build_id.empty(); ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader's interface is so
    const auto* begin = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    one.build_id = build_id({begin, segment.p_memsz});
  }
  static_cast<std::vector<Loaded>*>(to)->push_back(std::move(one));
  return 0;
}

std::vector<Loaded> loaded() {
  std::vector<Loaded> all;
  dl_iterate_phdr(add, &all);
  return all;
}

}  // namespace

std::string program_build_id() {
  std::string ids;
  for (const auto& one : loaded()) {
    const bool is_program = one.path.empty() && ids.empty();  // the first, as its loader lists them
    if (!is_program && !fs::path(one.path).filename().string().starts_with("libfathom_")) continue;
    const std::string id = !one.build_id.empty()
                               ? one.build_id
                               : fixtures::content_hash(is_program ? "/proc/self/exe" : one.path);
    ids.append(ids.empty() ? "" : " ").append(id);
  }
  return ids;
}

std::string loaded_libraries() {
  std::set<std::string> found;
  for (const auto& one : loaded()) {
    const std::string name = fs::path(one.path).filename();
    if (std::none_of(kStarts.begin(), kStarts.end(),
                     [&](std::string_view start) { return name.starts_with(start); })) {
      continue;
    }
    std::error_code unknown;
    found.insert(name + ':' +
                 (one.build_id.empty() ? std::to_string(fs::file_size(one.path, unknown)) + "_bytes"
                                       : one.build_id.substr(0, kShort)));
  }
  std::string text;
  for (const auto& one : found) text += (text.empty() ? "" : " ") + one;
  return text;
}

}  // namespace fathom::benchmarks
