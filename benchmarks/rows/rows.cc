#include "benchmarks/rows/rows.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <stdexcept>

#include "benchmarks/error.h"
#include "benchmarks/tasks/fixture_task.h"
#include "benchmarks/tasks/model_task.h"
#include "benchmarks/tasks/op_task.h"
#include "ops/backends/vendor.h"

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

/// A subject's name is `head` + threads + `tail`; one row for each thread count that its device
/// and its code have.
struct Subject {
  std::string head;
  std::string tail;
  Device device;
  Precision precision;
  std::function<std::unique_ptr<Task>()> make;
  bool serial = false;  ///< runs with one thread whatever is asked for
  Rates rates = {};
  Watch watch = Watch::kNothing;
  std::function<Counters()> memory = {};
  std::optional<ops::Cost> cost = {};
  std::optional<RowOp> op = {};
};

void add_rows(std::vector<Row>& rows, const Options& options, const Subject& subject) {
  const std::vector<int> threads =
      subject.device == Device::kCpu && !subject.serial ? options.threads : std::vector<int>{1};
  for (const int n : threads) {
    rows.push_back({.name = subject.head + token("threads", n) + subject.tail,
                    .subject = subject.head + subject.tail,
                    .threads = n,
                    .device = subject.device,
                    .precision = subject.precision,
                    .make = subject.make,
                    .rates = subject.rates,
                    .watch = subject.watch,
                    .memory = subject.memory,
                    .samples = !options.samples.empty(),
                    .cost = subject.cost,
                    .op = subject.op});
  }
}

bool wanted(const Options& options, Backend backend) {
  return options.backends.empty() || std::find(options.backends.begin(), options.backends.end(),
                                               backend) != options.backends.end();
}

/// Calls `visit` for every device and precision that go together.
template <typename Visit>
void each_machine(const Options& options, Visit visit) {
  for (const Device device : options.devices) {
    for (const Precision precision : options.precisions) {
      if (precision == Precision::kTf32 && device == Device::kCpu) continue;
      visit(device, precision);
    }
  }
}

Watch watch(const Options& options, Device device) {
  if (options.explain) return device == Device::kCpu ? Watch::kShapes : Watch::kNothing;
  return options.profile ? Watch::kTypes : Watch::kNothing;
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

/// Backward, a multiply-add costs two more; an update reads and writes each parameter some times.
ops::Cost rough_cost(const models::WorkloadRow& workload, const models::StepOptions& step) {
  const bool train = step.mode == models::Mode::kTrain;
  const auto macs =
      static_cast<double>(!train && workload.infer_macs > 0 ? workload.infer_macs : workload.macs);
  const auto parameters = static_cast<double>(workload.parameters);
  return {.flops = (train ? 3 : 1) * 2 * macs * static_cast<double>(step.batch),
          .bytes = (train ? 6 : 1) * parameters * ops::element_bytes(step.precision)};
}

void add_models(std::vector<Row>& rows, const Options& options) {
  if (!wanted(options, Backend::kTorch)) return;
  for (const auto& workload : models::workloads()) {
    for (const auto mode : {models::Mode::kTrain, models::Mode::kInfer}) {
      if (options.explain && *options.explain != StepName{std::string(workload.name), mode})
        continue;
      const std::vector<int64_t> batches = batches_of(options, workload, mode);
      each_machine(options, [&](Device device, Precision precision) {
        for (const int64_t batch : batches) {
          const models::StepOptions step{.mode = mode,
                                         .device = device,
                                         .precision = precision,
                                         .batch = batch,
                                         .seed = options.seed,
                                         .data = options.data};
          const auto memory = [&workload, step] { return memory_counters(workload, step); };
          add_rows(rows, options,
                   {.head = std::string(workload.name) + '/' + std::string(name(mode)) +
                            token("device", device),
                    .tail = token("batch", batch) + token("precision", precision) +
                            token("backend", Backend::kTorch),
                    .device = device,
                    .precision = precision,
                    .make = [&workload, step] { return make_model_task(workload, step); },
                    .rates = {.flops = true},
                    .watch = watch(options, device),
                    .memory = options.memory ? memory : std::function<Counters()>{},
                    .cost = rough_cost(workload, step)});
        }
      });
    }
  }
}

bool is_part(const ops::ShapeRow& shape, const StepName& step) {
  const bool train = step.mode == models::Mode::kTrain;
  return shape.workload == step.workload && (train ? shape.count : shape.infer_count) > 0;
}

/// Whose code the workloads run.
Backend backend_in_steps(const ops::Op& op, Device device) {
  const bool native = op.native_in_steps() && is_here(Backend::kNative, device);
  return native ? Backend::kNative : Backend::kTorch;
}

void add_ops(std::vector<Row>& rows, const Options& options) {
  std::vector<ops::ShapeRow> shapes = ops::recorded_shapes();
  if (!options.shapes.empty()) {
    for (auto& shape : ops::read_shapes(options.shapes)) shapes.push_back(std::move(shape));
  }
  for (const auto& each : shapes) {
    if (options.explain && !is_part(each, *options.explain)) continue;
    const auto shape = std::make_shared<const ops::ShapeRow>(each);
    each_machine(options, [&](Device device, Precision precision) {
      const Backend in_steps = backend_in_steps(*shape->op, device);
      for (const Backend backend : shape->op->backends()) {
        if (!is_here(backend, device, precision) || !wanted(options, backend)) continue;
        for (const Cache cache : options.caches) {
          const OpOptions op{.device = device,
                             .precision = precision,
                             .backend = backend,
                             .cache = cache,
                             .seed = options.seed};
          const bool cold_anyway = options.explain && runs_cold_anyway(*shape->op, op);
          if (cache == Cache::kCold && !runs_cold(*shape->op, op)) continue;
          if (cache == Cache::kCold && (cold_anyway || (options.explain && backend != in_steps))) {
            continue;
          }
          add_rows(rows, options,
                   {.head = shape->name() + token("device", device),
                    .tail = token("precision", precision) + token("cache", cache) +
                            token("backend", backend),
                    .device = device,
                    .precision = precision,
                    .make = [shape, op] { return make_op_task(*shape, op); },
                    .rates = {.flops = true, .bytes = true},
                    .cost = shape->op->cost(precision),
                    .op = RowOp{.shape = shape,
                                .backend = backend,
                                .in_steps = backend == in_steps,
                                .cache = cache,
                                .cold_anyway = cold_anyway}});
        }
      }
    });
  }
}

void add_fixtures(std::vector<Row>& rows, const Options& options) {
  if (!wanted(options, Backend::kTorch)) return;
  for (const auto& fixture : fixture_rows()) {
    if (std::find(options.devices.begin(), options.devices.end(), fixture.device) ==
        options.devices.end()) {
      continue;
    }
    const FixtureOptions given{
        .seed = options.seed, .data = options.data, .replay = options.replay};
    add_rows(rows, options,
             {.head = "fixture/" + std::string(fixture.name) + token("device", fixture.device),
              .tail = "",
              .device = fixture.device,
              .precision = Precision::kFp32,
              .make = [&fixture, given] { return fixture.make(given); },
              .serial = fixture.serial});
  }
}

}  // namespace

std::vector<Row> make_rows(const Options& options) {
  std::vector<Row> rows;
  add_models(rows, options);
  add_ops(rows, options);
  if (!options.explain) add_fixtures(rows, options);
  std::set<std::string> names;
  for (const auto& row : rows) {
    if (!names.insert(row.name).second)
      throw UsageError(row.name + ": two rows have this name, expected one");
  }
  return rows;
}

std::vector<Row> filtered(const std::vector<Row>& rows, const std::string& filter) {
  if (filter.empty() || filter == "all") return rows;
  const bool inverted = filter[0] == '-';
  std::regex expression;
  try {
    expression.assign(inverted ? filter.substr(1) : filter,
                      std::regex::extended | std::regex::nosubs);
  } catch (const std::regex_error& error) {
    throw UsageError("--benchmark_filter=" + filter + ": no POSIX extended regular expression (" +
                     error.what() + ")");
  }
  std::vector<Row> found;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(found), [&](const Row& row) {
    return std::regex_search(row.name + kNameSuffix, expression) != inverted;
  });
  return found;
}

}  // namespace fathom::benchmarks
