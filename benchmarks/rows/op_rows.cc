#include <algorithm>

#include "benchmarks/rows/row_parts.h"
#include "benchmarks/rows/rows.h"
#include "benchmarks/tasks/op_task.h"
#include "models/table.h"
#include "ops/backends/operators/kernel_library.h"
#include "ops/backends/vendor.h"
#include "ops/types/quantized_rows.h"
#include "ops/types/shapes.h"

namespace fathom::benchmarks {
namespace {

using fixtures::Device;
using fixtures::Precision;
using ops::Backend;

/// Whether `kernels` replace operators of this op type.
bool replaces(const ops::KernelSet& kernels, Device device, const ops::OpType& type) {
  const auto& operators = kernels.operators().at(device);
  const auto replaced = [&](std::string_view op) {  // in any overload
    return std::any_of(operators.begin(), operators.end(), [&](const std::string& one) {
      return std::string_view(one).substr(0, one.find('.')) == op;
    });
  };
  return std::any_of(type.aten.begin(), type.aten.end(), replaced) ||
         std::any_of(type.aten_parts.begin(), type.aten_parts.end(), replaced);
}

void add_op(std::vector<Row>& rows, const Axes& axes,
            const std::shared_ptr<const ops::ShapeRow>& shape, const OpOptions& op, bool in_steps) {
  if (op.cache == Cache::kCold && !runs_cold(*shape->op, op)) return;
  const std::string backend = backend_name(axes, op.backend);
  add_rows(rows, axes, shape->name() + token("device", op.device),
           token("precision", op.precision) + token("cache", op.cache) + token("backend", backend),
           {.device = op.device,
            .precision = op.precision,
            .backend = backend,
            .own_process = op.kernels != nullptr,
            .needs_replacement = op.kernels != nullptr && !axes.keep_unreplaced,
            .make = [shape, op](const Row&) { return make_op_task(*shape, op); },
            .rates = {.flops = true, .bytes = true},
            .cost = shape->op->cost(op.precision),
            .op = RowOp{shape, op.backend, in_steps, op.cache}});
}

/// The backends that run the ops of a shape.
std::vector<Backend> backends_of(const ops::ShapeRow& shape, const Axes& axes, Device device,
                                 Precision precision) {
  std::vector<Backend> backends = shape.op->backends();
  std::erase_if(backends, [&](Backend backend) {
    return !is_here(backend, *shape.type, device, precision) ||
           (backend == Backend::kNative && !shape.op->native_on(device));
  });
  if (has_library(axes, device) && replaces(*axes.library, device, *shape.type))
    backends.push_back(Backend::kLibrary);
  std::erase_if(backends, [&](Backend backend) { return !wanted(axes, backend); });
  return backends;
}

/// Adds the rows of a shape, which exists on `device` in `precision`. A shape without calls is not
/// one of a step.
void add_shape(std::vector<Row>& rows, const Axes& axes, const Conditions& conditions,
               const std::shared_ptr<const ops::ShapeRow>& shape, Device device,
               Precision precision) {
  if (device == Device::kCuda && shape->op->on_cpu_only()) return;
  const Backend in_steps = shape->op->backend_in_steps(device);
  for (const Backend backend : backends_of(*shape, axes, device, precision)) {
    for (const Cache cache : axes.caches) {
      const OpOptions op{.device = device,
                         .precision = precision,
                         .backend = backend,
                         .cache = cache,
                         .seed = conditions.seed,
                         .kernels = backend == Backend::kLibrary ? axes.library : nullptr};
      const bool runs = shape->count + shape->infer_count > 0;
      add_op(rows, axes, shape, op, runs && backend == in_steps);
    }
  }
}

/// Adds the rows of a network's ops: in a quantised precision, of those that it runs instead of its
/// layers, and of those in the file whose shapes have its format.
void add_network(std::vector<Row>& rows, const Axes& axes, const Conditions& conditions,
                 const std::vector<ops::ShapeRow>& shapes, bool quantizes = true) {
  for (const auto& each : shapes) {
    const auto shape = std::make_shared<const ops::ShapeRow>(each);
    for_devices_and_precisions(axes, [&](Device device, Precision precision) {
      const auto only = shape->op->only_precision();
      if (only ? *only == precision : !fixtures::is_quantized(precision))
        add_shape(rows, axes, conditions, shape, device, precision);
    });
    if (const auto uneven = ops::with_uneven_experts(each))
      add_network(rows, axes, conditions, {*uneven}, /*quantizes=*/false);
  }
  if (!quantizes) return;
  for_devices_and_precisions(axes, [&](Device device, Precision precision) {
    if (!fixtures::is_quantized(precision)) return;
    for (auto& row : ops::quantized_rows(shapes, device, precision)) {
      const auto shape = std::make_shared<const ops::ShapeRow>(std::move(row));
      add_shape(rows, axes, conditions, shape, device, precision);
    }
  });
}

}  // namespace

bool exceeds_caches(const Row& row) {
  return exceeds_caches(*row.op->shape->op, {.device = row.device, .precision = row.precision});
}

std::vector<Row> op_rows(const Axes& axes, const Conditions& conditions) {
  std::vector<Row> rows;
  for (const auto& workload : models::workloads()) {
    const std::string_view text = models::shapes_text(workload);
    if (!text.empty())
      add_network(rows, axes, conditions, ops::parse_shapes(text, workload.name + ".json"),
                  workload.quantizes);
  }
  if (!axes.shapes.empty()) add_network(rows, axes, conditions, ops::read_shapes(axes.shapes));
  return rows;
}

}  // namespace fathom::benchmarks
