#include "ops/backends/operators/kernel_library.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "fixtures/machine/shared_library.h"
#include "ops/core/backend.h"

namespace fathom::ops {
namespace {

using fixtures::Device;

/// Names of backends that are not in kBackendNames but that rows have or will have.
constexpr std::array<std::string_view, 4> kReserved{"library", "gloo", "nccl", "mpi"};

/// The dispatch keys of the devices' kernels.
constexpr std::array<std::pair<Device, std::string_view>, 2> kKeys{
    {{Device::kCpu, "CPU"}, {Device::kCuda, "CUDA"}}};

/// LibTorch's message without its stack.
std::string in_one_line(std::string_view message) {
  std::istringstream lines(std::string(message.substr(0, message.find("\nException raised"))));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.find_first_not_of(' ');
    if (begin != std::string::npos) text += (text.empty() ? "" : "; ") + line.substr(begin);
  }
  return text;
}

/// Loads the library. Returns the reason where it does not load, else "".
std::string load_error(const std::string& path) {
  try {
    without_replacement_warning([&] { fixtures::open_library(path, RTLD_NOW | RTLD_LOCAL); });
  } catch (const std::exception& error) {  // of the loader, or a registration that LibTorch refuses
    return in_one_line(error.what());
  }
  return {};
}

/// A line "<device> <operator> <kernel>" for each active kernel of ATen's operators.
std::set<std::string> kernels() {
  std::set<std::string> all;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& op : dispatcher.getAllOpNames()) {
    constexpr std::string_view kNamespace = "aten::";
    if (!op.name.starts_with(kNamespace)) continue;
    std::istringstream state(dispatcher.findOp(op)->dumpState());
    for (std::string line; std::getline(state, line);) {
      for (const auto& [device, key] : kKeys) {
        if (!line.starts_with(std::string(key) + ": ")) continue;
        std::string kernel(name(device));
        kernel.append(" ").append(op.name.substr(kNamespace.size()));
        if (!op.overload_name.empty()) kernel.append(".").append(op.overload_name);
        all.insert(kernel.append(" ").append(line));
      }
    }
  }
  return all;
}

/// Loads the library. Returns the kernels that it brings, or "! <reason>".
std::string loaded_kernels(const std::string& path) {
  const std::set<std::string> before = kernels();
  if (const std::string error = load_error(path); !error.empty()) return "! " + error + '\n';
  std::string text;
  for (const auto& kernel : kernels()) {
    if (!before.contains(kernel)) text += kernel + '\n';
  }
  return text;
}

bool is_taken(std::string_view name) {
  const auto holds = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return holds(kBackendNames) || holds(kReserved);
}

}  // namespace

std::string library_name(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  constexpr std::string_view kStart = "lib";
  constexpr std::string_view kEnd = ".so";
  if (file.size() <= kStart.size() + kEnd.size() || !file.starts_with(kStart) ||
      !file.ends_with(kEnd)) {
    throw std::runtime_error("expected a file name lib<name>.so, which makes rows backend:<name>");
  }
  const std::string name = file.substr(kStart.size(), file.size() - kStart.size() - kEnd.size());
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  if (name.find_first_not_of(kAllowed) != std::string::npos)
    throw std::runtime_error("the name " + name + " has characters other than A-Z a-z 0-9 _ -");
  if (is_taken(name))
    throw std::runtime_error("the name " + name + " is that of another backend, expected your own");
  return name;
}

// dlopen() searches for a name without a folder elsewhere.
KernelLibrary::KernelLibrary(const std::string& path)
    : KernelSet(library_name(path)), file_(std::filesystem::absolute(path).string()) {}

void KernelLibrary::find_operators() {
  if (!std::ifstream(file_)) throw std::runtime_error(std::strerror(errno));
  std::istringstream lines(fixtures::loaded_elsewhere([&] { return loaded_kernels(file_); }));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("! ")) throw std::runtime_error("cannot be loaded: " + line.substr(2));
    std::istringstream words(line);
    std::string device;
    std::string op;
    words >> device >> op;
    for (const auto& [known, key] : kKeys) {
      if (device == fixtures::name(known)) add(known, op);
    }
  }
  if (operators().empty()) {
    throw std::runtime_error(
        "registers no kernel for an operator of LibTorch, expected TORCH_LIBRARY_IMPL(aten, CPU, "
        "m)");
  }
}

void KernelLibrary::install(const std::vector<ChosenKernel>* /*recorded*/) {
  if (const std::string error = load_error(file_); !error.empty())
    throw std::runtime_error(file_ + ": cannot be loaded: " + error);
}

}  // namespace fathom::ops
