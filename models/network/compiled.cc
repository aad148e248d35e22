#include "models/network/compiled.h"

#include <ATen/cpu/Utils.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "fixtures/files/text.h"
#include "models/network/tensor_tree.h"

namespace fathom::models {
namespace {

using nlohmann::json;

const std::string kFolder = "data/aotinductor/";

/// The only model of a package.
std::string model_of(const Archive& archive) {
  std::vector<std::string> names;
  for (const auto& member : archive.names_in(kFolder, "")) {
    const std::string name = member.substr(0, member.find('/'));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  if (names.size() == 1) return names[0];
  archive.fail("holds " + fixtures::counted(std::ssize(names), "compiled model") +
               ", expected one: compile each to its own file");
}

/// The instructions of a package, "AVX512 AMX_TILE", that this CPU does not have.
std::string missing(const std::string& names) {
  const auto here = at::cpu::get_cpu_capabilities();
  std::string all;
  for (const auto name : fixtures::pieces(names)) {
    std::string key = fixtures::lower(name);
    if (key == "avx512") key = "avx512_f";
    const auto found = here.find(key);
    if (found != here.end() && !found->second.toBool())
      all.append(all.empty() ? "" : " ").append(name);
  }
  return all;
}

/// The number of threads in the sources of the kernels; 0 where it is not fixed.
int threads_of(const Archive& archive) {
  constexpr std::string_view kClause = "#pragma omp parallel num_threads(";
  for (const auto& name : archive.names_in(kFolder, ".cpp")) {
    const auto bytes = archive.bytes(kFolder + name + ".cpp");
    const std::string_view text(bytes.data(), bytes.size());
    const auto found = text.find(kClause);
    if (found == std::string_view::npos) continue;
    const auto digits = text.substr(found + kClause.size());
    return static_cast<int>(fixtures::number(digits.substr(0, digits.find(')'))).value_or(0));
  }
  return 0;
}

/// The number of tensors in a description of arguments, as Python's pytrees have it.
std::size_t leaves(const json& spec) {
  if (spec.at("type").is_null()) return 1;
  std::size_t count = 0;
  for (const auto& child : spec.at("children_spec")) count += leaves(child);
  return count;
}

/// What is written to std::cerr during its lifetime goes to `text`.
class CapturedErrors {
 public:
  explicit CapturedErrors(std::ostringstream& text) : shown_(std::cerr.rdbuf(text.rdbuf())) {}
  ~CapturedErrors() { std::cerr.rdbuf(shown_); }
  CapturedErrors(const CapturedErrors&) = delete;
  CapturedErrors& operator=(const CapturedErrors&) = delete;

 private:
  std::streambuf* shown_;
};

class Compiled final : public Network {
 public:
  Compiled(const Archive& archive, std::vector<at::Tensor> inputs)
      : loader_(archive.path(), model_of(archive)), inputs_(std::move(inputs)) {
    const auto spec = loader_.get_call_spec();
    const std::size_t expected = spec.empty() ? 0 : leaves(json::parse(spec[0]).at(1));
    if (!inputs_.empty() && inputs_.size() != expected) {
      throw std::runtime_error("found " + fixtures::counted(std::ssize(inputs_), "input") +
                               ", expected " + std::to_string(expected));
    }
  }

  /// A kernel that refuses its inputs writes the reason to std::cerr.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) override {
    const CapturedErrors captured(errors_);
    try {
      return loader_.run(inputs);
    } catch (const std::exception& error) {
      std::string reason = fixtures::first_line(errors_.str());
      errors_.str({});
      constexpr std::string_view kPrefix = "Error: ";
      if (reason.starts_with(kPrefix)) reason.erase(0, kPrefix.size());
      throw std::runtime_error(reason.empty() ? fixtures::first_line(error.what()) : reason);
    }
  }

  torch::nn::Module& module() override { return module_; }
  const std::vector<at::Tensor>& inputs() const override { return inputs_; }

  BatchRange batches() const override {
    const int64_t batch = batch_of(inputs_);
    return {.least = batch, .most = batch};
  }

 private:
  torch::inductor::AOTIModelPackageLoader loader_;
  torch::nn::Module module_;
  std::vector<at::Tensor> inputs_;
  std::ostringstream errors_;  ///< here, because a step has no time to make one
};

}  // namespace

Compilation read_compilation(const Archive& archive) {
  const auto names = archive.names_in(kFolder, "_metadata.json");
  if (names.empty()) archive.fail("its compiled model lacks its metadata");
  const std::string member = kFolder + names[0] + "_metadata.json";
  std::map<std::string, std::string> metadata;
  try {
    metadata = archive.json(member);
  } catch (const json::exception& error) {
    archive.fail(member + ": " + error.what() + ", expected what AOTInductor writes");
  }
  const std::string& device = metadata["AOTI_DEVICE_KEY"];
  if (device == name(fixtures::Device::kCuda)) {
    const std::string reason = fixtures::unavailable_reason(fixtures::Device::kCuda);
    if (!reason.empty()) archive.fail("compiled for cuda, expected cpu: " + reason);
    return {.device = fixtures::Device::kCuda};
  }
  if (device != name(fixtures::Device::kCpu))
    archive.fail("compiled for \"" + device + "\", expected cpu or cuda");
  const std::string lacking = missing(metadata["AOTI_CPU_ISA"]);
  if (!lacking.empty()) {
    archive.fail("compiled with " + lacking +
                 ", which this CPU does not have, expected a package compiled on this machine");
  }
  return {.device = fixtures::Device::kCpu, .threads = threads_of(archive)};
}

std::unique_ptr<Network> read_compiled(const Archive& archive,
                                       const std::optional<c10::IValue>& arguments) {
  for (const auto& name : archive.names_in(kFolder, ".so"))
    archive.expect_intact(kFolder + name + ".so");
  // Without it, kernels read inputs of other sizes than they were compiled for.
  setenv("AOTI_RUNTIME_CHECK_INPUTS", "1", /*overwrite=*/1);
  std::vector<at::Tensor> inputs;
  if (arguments) inputs = tensors_in(*arguments);
  std::ostringstream unused;
  const CapturedErrors captured(unused);
  try {
    return std::make_unique<Compiled>(archive, std::move(inputs));
  } catch (const std::exception& error) {
    archive.fail(fixtures::first_line(error.what()));
  }
}

}  // namespace fathom::models
