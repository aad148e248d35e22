#include "benchmarks/rows/rows.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "benchmarks/error.h"
#include "benchmarks/tasks/fixture_task.h"
#include "benchmarks/tasks/model_task.h"
#include "benchmarks/tasks/op_task.h"
#include "models/table.h"
#include "ops/backends/vendor.h"
#include "ops/types/shapes.h"

namespace fathom::benchmarks {
namespace {

using fixtures::Device;
using fixtures::Precision;
using ops::Backend;

template <typename Value>
std::string token(std::string_view key, Value value) {
  std::string text = "/" + std::string(key) + ":";
  if constexpr (std::is_integral_v<Value>) {
    text += std::to_string(value);
  } else {
    text += name(value);
  }
  return text;
}

/// Adds `row` once for each thread count; on a GPU, or if `serial`, only with one thread. Its name
/// is `head`, the token of the threads and `tail`.
void add_rows(std::vector<Row>& rows, const Options& options, const std::string& head,
              const std::string& tail, const Row& row, bool serial = false) {
  const std::vector<int> threads =
      row.device == Device::kCpu && !serial ? options.threads : std::vector<int>{1};
  for (const int n : threads) {
    Row& one = rows.emplace_back(row);
    one.name.assign(head).append(token("threads", n)).append(tail);
    one.subject.assign(head).append(tail);
    one.threads = n;
    one.samples = !options.samples.empty();
  }
}

/// A backend's name in the names of rows.
std::string token_of(const Options& options, Backend backend) {
  return backend == Backend::kLibrary ? options.library->name : std::string(name(backend));
}

bool holds(const std::vector<Backend>& backends, Backend backend) {
  return std::find(backends.begin(), backends.end(), backend) != backends.end();
}

bool wanted(const Options& options, Backend backend) {
  return options.backends.empty() || holds(options.backends, backend);
}

/// Whether --fathom_kernels has kernels for the device.
bool has_library(const Options& options, Device device) {
  return options.library != nullptr && options.library->has_kernels_for(device);
}

/// The kernels that a step on `backend` runs in place of LibTorch's; null: none.
std::shared_ptr<const ops::KernelSet> kernels_of(const Options& options, Backend backend) {
  if (backend == Backend::kLibrary) return options.library;
  if (backend == Backend::kOneDnn)
    return std::make_shared<const ops::KernelSet>(ops::onednn_kernels());
  if (backend == Backend::kTuned)
    return std::make_shared<const ops::KernelSet>(ops::tuned_kernels());
  return nullptr;
}

/// The backends of steps: LibTorch, and others only where the options ask for them.
std::vector<Backend> step_backends(const Options& options, Device device, Precision precision) {
  std::vector<Backend> backends;
  if (wanted(options, Backend::kTorch)) backends.push_back(Backend::kTorch);
  for (const Backend backend : {Backend::kOneDnn, Backend::kTuned}) {
    if (holds(options.backends, backend) && is_here(backend, device, precision))
      backends.push_back(backend);
  }
  // An explanation has the library's ops only.
  if (has_library(options, device) && wanted(options, Backend::kLibrary) && !options.explain)
    backends.push_back(Backend::kLibrary);
  return backends;
}

/// Calls `visit` with each device and each precision that it has: tf32 exists on GPUs only.
template <typename Visit>
void for_devices_and_precisions(const Options& options, Visit visit) {
  for (const Device device : options.devices) {
    for (const Precision precision : options.precisions) {
      if (precision == Precision::kTf32 && device == Device::kCpu) continue;
      visit(device, precision);
    }
  }
}

Profiling profiling(const Options& options) {
  if (options.explain) return Profiling::kOpShapes;
  return options.profile ? Profiling::kOpTypes : Profiling::kNone;
}

std::vector<int64_t> batches_of(const Options& options, const models::WorkloadRow& workload,
                                models::Mode mode) {
  if (!options.batches.empty()) return options.batches;
  std::set<int64_t> batches;
  for (const double scale : options.batch_scales) {
    const auto batch = static_cast<double>(models::default_batch(workload, mode));
    batches.insert(std::max<int64_t>(std::llround(scale * batch), 1));
  }
  return {batches.begin(), batches.end()};
}

/// MACs of a step of one sample. A backward pass takes two for each one of the forward pass.
int64_t rough_macs(const models::WorkloadRow& workload, models::Mode mode) {
  if (mode == models::Mode::kTrain) {
    return 3 * (workload.step_macs > 0 ? workload.step_macs : workload.macs);
  }
  return workload.infer_macs > 0 ? workload.infer_macs : workload.macs;
}

/// An update reads and writes each parameter several times.
ops::Cost rough_cost(const models::WorkloadRow& workload, const models::StepOptions& step) {
  const bool train = step.mode == models::Mode::kTrain;
  const auto macs = static_cast<double>(rough_macs(workload, step.mode));
  const auto parameters = static_cast<double>(workload.parameters);
  return {.flops = 2 * macs * static_cast<double>(step.batch),
          .bytes = (train ? 6 : 1) * parameters * ops::element_bytes(step.precision)};
}

/// Options of the process that runs a tuned step.
const std::vector<std::string> kTunedSwitches{"--fathom_mkl=native", "--fathom_malloc=tuned"};

void add_step(std::vector<Row>& rows, const Options& options, const models::WorkloadRow& workload,
              const models::StepOptions& step, Backend backend) {
  const bool graph = options.cuda_graph && step.device == Device::kCuda;
  const auto kernels = kernels_of(options, backend);
  const auto memory = [&workload, step] { return memory_counters(workload, step); };
  const bool measures_memory = options.memory && kernels == nullptr;
  const std::string name(workload.name);
  const std::string backend_name = token_of(options, backend);
  add_rows(
      rows, options,
      name + '/' + std::string(models::name(step.mode)) + token("device", step.device),
      token("batch", step.batch) + token("precision", step.precision) + "/backend:" + backend_name,
      {.device = step.device,
       .precision = step.precision,
       .backend = backend_name,
       .own_process = kernels != nullptr,
       .switches = backend == Backend::kTuned ? kTunedSwitches : std::vector<std::string>(),
       .make = [&workload, step, graph,
                kernels] { return make_model_task(workload, step, graph, kernels); },
       .rates = {.flops = true},
       .profiling = profiling(options),
       .memory = measures_memory ? memory : std::function<Counters()>{},
       .cuda_graph = graph,
       .cost = rough_cost(workload, step),
       .step = StepName{name, step.mode}});
}

void add_steps(std::vector<Row>& rows, const Options& options, const models::WorkloadRow& workload,
               models::Mode mode) {
  const std::vector<int64_t> batches = batches_of(options, workload, mode);
  for_devices_and_precisions(options, [&](Device device, Precision precision) {
    for (const int64_t batch : batches) {
      const models::StepOptions step{.mode = mode,
                                     .device = device,
                                     .precision = precision,
                                     .batch = batch,
                                     .seed = options.seed,
                                     .layout = options.layout,
                                     .data = options.data};
      for (const Backend backend : step_backends(options, device, precision))
        add_step(rows, options, workload, step, backend);
    }
  });
}

/// Whether `kernels` replace operators of this op type.
bool replaces(const ops::KernelSet& kernels, Device device, const ops::OpType& type) {
  const auto& operators = kernels.operators.at(device);
  const auto replaced = [&](std::string_view op) { return operators.contains(std::string(op)); };
  return std::any_of(type.aten.begin(), type.aten.end(), replaced) ||
         std::any_of(type.aten_parts.begin(), type.aten_parts.end(), replaced);
}

/// Whether `step` runs ops of this shape.
bool is_part(const ops::ShapeRow& shape, const StepName& step) {
  const bool train = step.mode == models::Mode::kTrain;
  return shape.workload == step.workload && (train ? shape.count : shape.infer_count) > 0;
}

/// Whether --fathom_explain needs the row: cold rows only of the backend that the steps use, and
/// only where a hot call finds its buffers in the caches.
bool explains(const RowOp& op) {
  return op.cache == Cache::kHot || (op.in_steps && !op.exceeds_caches);
}

void add_op(std::vector<Row>& rows, const Options& options,
            const std::shared_ptr<const ops::ShapeRow>& shape, const OpOptions& op, bool in_steps) {
  if (op.cache == Cache::kCold && !runs_cold(*shape->op, op)) return;
  const RowOp made{.shape = shape,
                   .backend = op.backend,
                   .in_steps = in_steps,
                   .cache = op.cache,
                   .exceeds_caches = options.explain && exceeds_caches(*shape->op, op)};
  if (options.explain && !explains(made)) return;
  const std::string backend = token_of(options, op.backend);
  add_rows(rows, options, shape->name() + token("device", op.device),
           token("precision", op.precision) + token("cache", op.cache) + "/backend:" + backend,
           {.device = op.device,
            .precision = op.precision,
            .backend = backend,
            .own_process = op.kernels != nullptr,
            .make = [shape, op] { return make_op_task(*shape, op); },
            .rates = {.flops = true, .bytes = true},
            .cost = shape->op->cost(op.precision),
            .op = made});
}

/// The backends that run the ops of a shape.
std::vector<Backend> backends_of(const ops::ShapeRow& shape, const Options& options, Device device,
                                 Precision precision) {
  std::vector<Backend> backends = shape.op->backends();
  std::erase_if(backends, [&](Backend backend) {
    return !is_here(backend, device, precision) ||
           (backend == Backend::kNative && !shape.op->native_on(device));
  });
  if (has_library(options, device) && replaces(*options.library, device, *shape.type))
    backends.push_back(Backend::kLibrary);
  std::erase_if(backends, [&](Backend backend) { return !wanted(options, backend); });
  return backends;
}

void add_fixtures(std::vector<Row>& rows, const Options& options) {
  if (!wanted(options, Backend::kTorch)) return;
  for (const auto& fixture : fixture_rows()) {
    if (std::find(options.devices.begin(), options.devices.end(), fixture.device) ==
        options.devices.end()) {
      continue;
    }
    const FixtureOptions fixture_options{
        .seed = options.seed, .data = options.data, .replay = options.replay};
    add_rows(rows, options,
             "fixture/" + std::string(fixture.name) + token("device", fixture.device), "",
             {.device = fixture.device,
              .make = [&fixture, fixture_options] { return fixture.make(fixture_options); }},
             fixture.serial);
  }
}

}  // namespace

std::vector<Row> step_rows(const Options& options) {
  std::vector<Row> rows;
  for (const auto& workload : models::workloads()) {
    for (const auto mode : models::modes(workload)) {
      const StepName step{std::string(workload.name), mode};
      if (!options.explain || *options.explain == step) add_steps(rows, options, workload, mode);
    }
  }
  return rows;
}

std::vector<Row> op_rows(const Options& options) {
  std::vector<ops::ShapeRow> shapes;
  const auto add = [&](std::vector<ops::ShapeRow> more) {
    std::move(more.begin(), more.end(), std::back_inserter(shapes));
  };
  for (const auto& workload : models::workloads()) add(ops::embedded_shapes(workload.name));
  if (!options.shapes.empty()) add(ops::read_shapes(options.shapes));
  std::vector<Row> rows;
  for (auto& each : shapes) {
    if (options.explain && !is_part(each, *options.explain)) continue;
    const auto shape = std::make_shared<const ops::ShapeRow>(std::move(each));
    for_devices_and_precisions(options, [&](Device device, Precision precision) {
      if (device == Device::kCuda && shape->op->on_cpu_only()) return;
      const Backend in_steps = shape->op->backend_in_steps(device);
      for (const Backend backend : backends_of(*shape, options, device, precision)) {
        for (const Cache cache : options.caches) {
          const OpOptions op{.device = device,
                             .precision = precision,
                             .backend = backend,
                             .cache = cache,
                             .seed = options.seed,
                             .kernels = backend == Backend::kLibrary ? options.library : nullptr};
          add_op(rows, options, shape, op, backend == in_steps);
        }
      }
    });
  }
  return rows;
}

std::vector<Row> make_rows(const Options& options) {
  std::vector<Row> rows = step_rows(options);
  for (auto& row : op_rows(options)) rows.push_back(std::move(row));
  if (!options.explain) add_fixtures(rows, options);
  std::set<std::string> names;
  for (const auto& row : rows) {
    if (!names.insert(row.name).second)
      throw UsageError(row.name + ": two rows have this name, expected one");
  }
  return rows;
}

}  // namespace fathom::benchmarks
