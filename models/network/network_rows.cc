#include "models/network/network_rows.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <c10/core/InferenceMode.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "fixtures/files/data_error.h"
#include "fixtures/files/text.h"
#include "fixtures/machine/memory.h"
#include "models/network/archive.h"
#include "models/network/arguments.h"
#include "models/network/compiled.h"
#include "models/network/network_workload.h"
#include "models/parameter_count.h"
#include "models/recorded.h"
#include "models/table.h"
#include "ops/profiler/flops.h"

namespace fathom::models {
namespace {

/// The tensors that an inference may not change, with their names.
std::vector<std::pair<std::string, at::Tensor>> unchanging(NetworkWorkload& workload,
                                                           const fixtures::Batch& batch) {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (const auto& one : workload.module().named_parameters())
    tensors.emplace_back("its parameter " + one.key(), one.value());
  for (const auto& one : workload.module().named_buffers())
    tensors.emplace_back("its buffer " + one.key(), one.value());
  for (std::size_t i = 0; i < batch.size(); ++i)
    tensors.emplace_back("its input " + std::to_string(i + 1), batch[i]);
  return tensors;
}

/// The norm of the difference, as a share of that of `a`.
double difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return 1;
  if (!a.is_floating_point()) return at::equal(a, b) ? 0 : 1;
  const auto norm = [](const at::Tensor& tensor) {
    return at::linalg_vector_norm(tensor.nan_to_num(), 2, {}, false, at::kDouble).item<double>();
  };
  const double size = norm(a);
  return size == 0 ? norm(b) : norm(a - b) / size;
}

/// Why the inference of a network cannot be measured; empty where it can.
std::string impurity(NetworkWorkload& workload, const fixtures::Batch& batch) {
  const c10::InferenceMode inference;
  workload.module().eval();
  const auto tensors = unchanging(workload, batch);
  std::vector<int64_t> versions;
  for (const auto& [name, tensor] : tensors) versions.push_back(tensor._version());
  workload.infer(batch);
  const std::vector<at::Tensor> first = workload.outputs();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].second._version() != versions[i]) {
      return "its inference changes " + tensors[i].first +
             "; export it after net.eval(), and without changes in place";
    }
  }
  workload.infer(batch);
  constexpr double kTolerance = 1e-3;  // the order of sums may differ
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (difference(first[i], workload.outputs()[i]) > kTolerance)
      return "two inferences of the same inputs differ; export it after net.eval(), without "
             "dropout";
  }
  return {};
}

/// Whether the network computes one number that depends on its parameters.
bool has_loss(NetworkWorkload& workload, const fixtures::Batch& batch) {
  workload.module().train();
  at::Tensor result;
  try {
    result = workload.infer(batch);
  } catch (const std::exception&) {
    return false;  // a script may take other arguments in training; inference tells other reasons
  }
  return workload.outputs().size() == 1 && result.numel() == 1 && result.dim() == 0 &&
         result.is_floating_point() && result.requires_grad();
}

/// The workload of the network from which a compiled one was made; null where it has not been
/// added.
const WorkloadRow* exported(const std::string& compiled) {
  const std::string name = std::filesystem::path(compiled).stem().string();
  const auto found =
      std::find_if(workloads().begin(), workloads().end(),
                   [&](const WorkloadRow& row) { return row.name == name && is_exported(row); });
  return found == workloads().end() ? nullptr : &*found;
}

/// The inputs of a network from a file, as arguments of a call.
c10::IValue arguments_of(const WorkloadRow& row) {
  const fixtures::BatchSet set = row.make(Scale::kFull)->batches({.batch = row.batch, .count = 1});
  return c10::ivalue::Tuple::create({set.batches[0].begin(), set.batches[0].end()});
}

/// Runs the network to fill in what its file does not say.
void measure(WorkloadRow& row, NetworkWorkload& workload, const NetworkFile& file) {
  const fixtures::Device place = row.compiled ? row.compiled->device : file.device;
  const at::Device device = fixtures::torch_device(place);
  workload.module().to(device);
  fixtures::Batch batch = workload.batches({.batch = row.batch}).batches[0];
  for (auto& tensor : batch) tensor = tensor.to(device);
  row.trains = !row.compiled && has_loss(workload, batch);
  const std::string why_not = impurity(workload, batch);
  row.infers = why_not.empty();
  if (!row.infers && !row.trains) throw fixtures::DataError(file.path + ": " + why_not);
  if (!row.infers) file.warn(row.name + "/infer: no rows: " + why_not);
  row.optimizer = row.trains ? "SGD 0.01" : "none";
  if (row.compiled) return;  // its kernels are no ops that could be counted
  const auto counted = ops::count_flops([&] {
    const c10::InferenceMode inference;
    workload.infer(batch);
  });
  row.macs = static_cast<int64_t>(counted.macs / static_cast<double>(row.batch));
  row.shapes = record_shapes_json(row, place);
}

}  // namespace

std::string network_name(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  const auto fail = [&](const std::string& why) {
    throw fixtures::DataError(path + ": \"" + stem + "\" " + why + "; rename the file");
  };
  if (stem.empty() ||
      stem.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
    fail("is no name of a workload, expected lower-case letters, digits and _");
  constexpr std::array<std::string_view, 2> kOthers{"op", "fixture"};
  if (std::find(kOthers.begin(), kOthers.end(), stem) != kOthers.end() ||
      std::any_of(workloads().begin(), workloads().end(),
                  [&](const WorkloadRow& row) { return row.name == stem; }))
    fail("is the name of other rows");
  return stem;
}

bool is_compiled(const std::string& path) { return Archive(path).kind() == ArchiveKind::kCompiled; }

std::string network_id(const std::string& path) { return Archive(path).id(); }

void add_network(const NetworkFile& file) {
  std::optional<c10::IValue> arguments;
  if (!file.arguments.empty()) arguments = read_arguments(file.arguments);
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(file.path, unknown);
  if (!unknown) {
    fixtures::expect_memory(static_cast<int64_t>(bytes), "the network " + file.path,
                            "free some, or run it on a larger machine");
  }
  const Archive archive(file.path);
  std::optional<Compilation> compiled;
  if (archive.kind() == ArchiveKind::kCompiled) {
    compiled = read_compilation(archive);
    compiled->of = exported(file.path);
    if (compiled->of != nullptr) arguments = arguments_of(*compiled->of);
  }
  NetworkWorkload workload(read_network(file.path, arguments));
  const Network& network = workload.network();
  if (network.inputs().empty()) {
    throw fixtures::DataError(file.path +
                              ": holds no inputs that can be read here, expected them in an "
                              "option, as in --fathom_network_inputs=float32:8x3x224x224");
  }
  WorkloadRow row{};
  if (compiled && compiled->of != nullptr) {
    row = *compiled->of;
    row.shapes.clear();
  } else {
    row.name = network_name(file.path);
    row.dataset = "its inputs";
    row.batch = batch_of(network.inputs());
    row.batches = network.batches();
    row.parameters = parameter_count(workload.module());
  }
  row.paper = (compiled ? "the compiled network in " : "the network in ") + file.path;
  row.compiled = compiled;
  row.make = [path = file.path, arguments](Scale /*scale*/) {
    return std::make_unique<NetworkWorkload>(read_network(path, arguments));
  };
  try {
    measure(row, workload, file);
  } catch (const fixtures::DataError&) {
    throw;
  } catch (const std::exception& error) {
    throw fixtures::DataError(file.path + ": " + fixtures::first_line(error.what()) +
                              ", expected a network that can be measured with its inputs");
  }
  add_workload(std::move(row));
}

}  // namespace fathom::models
