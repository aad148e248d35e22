#include "ops/backends/onednn/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "fixtures/machine/shared_library.h"

namespace fathom::ops::onednn {
namespace {

constexpr std::array<std::string_view, 4> kWithoutFp16{"gru", "gru_cell", "lstm", "lstm_cell"};

/// dnnl_version_t of oneDNN 2 and 3. oneDNN's headers are for libfathom_onednn.so alone.
struct Version {
  int major, minor, patch;
  const char* commit;
  unsigned cpu_runtime, gpu_runtime;
};

constexpr unsigned kOpenMp = 2;
constexpr std::array<std::pair<unsigned, std::string_view>, 5> kRuntimes{
    {{0, "no CPU"}, {1, "one thread"}, {4, "TBB"}, {8, "a thread pool"}, {512, "SYCL"}}};

/// Op types whose primitive came after oneDNN 3.2, and the minor version that added it.
constexpr std::array<std::pair<std::string_view, int>, 1> kAdded{{{"group_norm", 3}}};

std::string text(const Version& version) {
  return std::to_string(version.major) + '.' + std::to_string(version.minor) + '.' +
         std::to_string(version.patch);
}

std::string name(const Version& version) { return "oneDNN " + text(version); }

/// The file of the library that holds a function; empty for null.
std::string file_of(void* function) {
  Dl_info object{};
  return function != nullptr && dladdr(function, &object) != 0 ? object.dli_fname : "";
}

/// Throws where the library's threads are not those of LibTorch's OpenMP, which sets their number.
void expect_openmp(void* library, const Version& version) {
  for (const auto& [runtime, threads] : kRuntimes) {
    if (version.cpu_runtime == runtime)
      throw std::runtime_error(name(version) + " runs on " + std::string(threads) +
                               ", expected a build with OpenMP");
  }
  constexpr const char* kFunction = "omp_get_max_threads";
  const std::string found = file_of(dlsym(library, kFunction));
  const std::string used = file_of(dlsym(RTLD_DEFAULT, kFunction));
  if (version.cpu_runtime != kOpenMp || found != used)
    throw std::runtime_error(name(version) + " uses the OpenMP of " + found +
                             ", expected LibTorch's, " + used);
}

/// Loads this project's calls of oneDNN, which the loader binds to the one that is loaded.
const Library* calls(const Version& version) {
  const std::string file = "libfathom_onednn.so";
  try {
    void* const library =
        fixtures::open_library(fixtures::beside_program(file), RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<decltype(&fathom_onednn_library)>(
        dlsym(library, "fathom_onednn_library"))();
  } catch (const std::runtime_error& error) {
    const std::string reason = error.what();
    constexpr std::string_view kMissing = "undefined symbol: ";
    const auto missing = reason.find(kMissing);
    if (missing == std::string::npos) throw std::runtime_error(file + ": " + reason);
    throw std::runtime_error(name(version) + " lacks the function " +
                             reason.substr(missing + kMissing.size()));
  }
}

struct Opened {
  std::string version;
  int minor = 0;
  const Library* calls = nullptr;
};

/// Opens the oneDNN of `file`. Throws std::runtime_error with what it lacks.
Opened open(const std::string& file) {
  void* const library = fixtures::open_library(file, RTLD_NOW | RTLD_GLOBAL);
  constexpr const char* kFunction = "dnnl_version";
  void* const version_of = dlsym(library, kFunction);
  if (version_of == nullptr)
    throw std::runtime_error(std::string("is not oneDNN: it has no function ") + kFunction);
  const Version& version = *reinterpret_cast<const Version* (*)()>(version_of)();
  constexpr int kMajor = 3;
  if (version.major != kMajor)
    throw std::runtime_error("is " + name(version) + ", expected oneDNN " + std::to_string(kMajor));
  if (file != FATHOM_ONEDNN_FILE)
    expect_openmp(library, version);  // CMake checks that of the build
  if (dlsym(RTLD_DEFAULT, kFunction) != version_of) {
    throw std::runtime_error("LibTorch has loaded " + file_of(dlsym(RTLD_DEFAULT, kFunction)) +
                             ", which all calls reach; use the LibTorch of PyPI");
  }
  return {.version = text(version), .minor = version.minor, .calls = calls(version)};
}

/// The oneDNN of the first call.
const Opened& opened(const std::string& file = FATHOM_ONEDNN_FILE) {
  static const Opened first = [&]() -> Opened {
    if (file.empty()) return {};
    try {
      return open(file);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(file + ": " + error.what());
    }
  }();
  return first;
}

}  // namespace

void use(const std::string& file) {
  if (std::string_view(FATHOM_ONEDNN_FILE).empty())
    throw std::runtime_error("built without oneDNN; configure with -DDNNL_ROOT=DIR");
  const std::string path = std::filesystem::absolute(file);  // of a name, dlopen() searches folders
  const std::string refusal = fixtures::loaded_elsewhere([&]() -> std::string {
    try {
      open(path).calls->has(Element::kBf16);
      return {};
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  });
  if (!refusal.empty()) throw std::runtime_error(refusal);
  opened(path);
}

std::string version() { return opened().version; }

bool has(Element element) { return opened().calls != nullptr && opened().calls->has(element); }

bool has(std::string_view op_type, Element element) {
  if (element == Element::kFp16 &&
      std::find(kWithoutFp16.begin(), kWithoutFp16.end(), op_type) != kWithoutFp16.end())
    return false;
  return std::none_of(kAdded.begin(), kAdded.end(), [&](const auto& added) {
    return added.first == op_type && opened().minor < added.second;
  });
}

std::unique_ptr<Kernel> kernel(const Problem& problem) {
  return opened().calls == nullptr ? nullptr : opened().calls->kernel(problem);
}

}  // namespace fathom::ops::onednn
