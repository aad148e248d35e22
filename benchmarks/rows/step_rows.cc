#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "benchmarks/error.h"
#include "benchmarks/machine/process_tuning.h"
#include "benchmarks/rows/row_parts.h"
#include "benchmarks/rows/rows.h"
#include "benchmarks/tasks/model_task.h"
#include "benchmarks/tasks/step_choice.h"
#include "fixtures/files/text.h"
#include "models/table.h"
#include "ops/backends/operators/kernel_library.h"
#include "ops/backends/vendor.h"
#include "ops/types/quantized_rows.h"

namespace fathom::benchmarks {
namespace {

using fixtures::Device;
using fixtures::Precision;
using ops::Backend;

/// The kernels that a step on `backend` runs in place of LibTorch's; null: none.
std::shared_ptr<ops::KernelSet> kernels_of(const Axes& axes, Backend backend, Device device,
                                           Precision precision) {
  if (backend == Backend::kLibrary) return axes.library;
  if (backend == Backend::kOneDnn) return ops::onednn_kernels(precision);
  if (backend == Backend::kTuned) return ops::tuned_kernels(device, precision);
  if (fixtures::is_quantized(precision)) return ops::torch_quantized_kernels(device);
  return nullptr;
}

/// The backends of steps: LibTorch, the user's library, and others only where the axes ask for
/// them.
std::vector<Backend> step_backends(const Axes& axes, const models::WorkloadRow& workload,
                                   Device device, Precision precision) {
  std::vector<Backend> backends;
  if (workload.compiled) {
    if (wanted(axes, Backend::kInductor)) backends.push_back(Backend::kInductor);
    return backends;
  }
  if (wanted(axes, Backend::kTorch)) backends.push_back(Backend::kTorch);
  const bool quantized = fixtures::is_quantized(precision);
  if (quantized && device == Device::kCuda) return backends;  // LibTorch's kernels only
  for (const Backend backend : {Backend::kOneDnn, Backend::kTuned}) {
    if (asks_for(axes, backend) && is_here(backend, device, precision)) backends.push_back(backend);
  }
  if (!quantized && has_library(axes, device)) backends.push_back(Backend::kLibrary);
  return backends;
}

/// The axes of a workload: a compiled network has its device, no autocast and perhaps its number of
/// threads.
Axes axes_of(const models::WorkloadRow& workload, const Axes& axes) {
  Axes own = axes;
  if (!workload.compiled) return own;
  const models::Compilation& compiled = *workload.compiled;
  std::erase_if(own.devices, [&](Device one) { return one != compiled.device; });
  std::erase_if(own.precisions, [](Precision one) { return one != Precision::kFp32; });
  std::erase_if(own.threads,
                [&](int one) { return compiled.threads > 0 && one != compiled.threads; });
  return own;
}

std::vector<int64_t> batches_of(const Axes& axes, const models::WorkloadRow& workload,
                                models::Mode mode) {
  std::vector<int64_t> batches = axes.batches;
  if (batches.empty()) {
    std::set<int64_t> scaled;
    for (const double scale : axes.batch_scales) {
      const auto batch = static_cast<double>(models::default_batch(workload, mode));
      scaled.insert(std::max<int64_t>(std::llround(scale * batch), 1));
    }
    batches.assign(scaled.begin(), scaled.end());
  }
  std::erase_if(batches, [&](int64_t batch) { return !workload.batches.contains(batch); });
  return batches;
}

/// The contexts of a language model's inference; {0} for other steps.
std::vector<int64_t> contexts_of(const Axes& axes, const models::WorkloadRow& workload,
                                 models::Mode mode) {
  const int64_t own = own_context(workload, mode);
  const int64_t longest = longest_context(workload, mode);
  if (own == 0 || axes.contexts.empty()) return {0};
  std::vector<int64_t> contexts;
  for (const int64_t context : axes.contexts) {
    if (longest == 0 || context <= longest) contexts.push_back(context == own ? 0 : context);
  }
  return contexts;
}

/// MACs of a step of one sample. A backward pass takes two for each one of the forward pass.
double rough_macs(const models::WorkloadRow& workload, const models::StepOptions& step) {
  if (step.mode == models::Mode::kTrain)
    return 3.0 * static_cast<double>(workload.step_macs > 0 ? workload.step_macs : workload.macs);
  auto macs = static_cast<double>(workload.infer_macs > 0 ? workload.infer_macs : workload.macs);
  const int64_t own = workload.context.tokens;
  if (own == 0 || workload.context.decodes) return macs;
  const int64_t tokens = context_of(workload, step);
  const int64_t decoded = step.mode == models::Mode::kGenerate ? models::kGeneratedTokens : 0;
  return macs * static_cast<double>(tokens + decoded) / static_cast<double>(own);
}

/// How often a step reads its parameters. An update reads and writes each several times.
int64_t rough_reads(models::Mode mode) {
  if (mode == models::Mode::kTrain) return 6;
  return mode == models::Mode::kGenerate ? 1 + models::kGeneratedTokens : 1;
}

ops::Cost rough_cost(const models::WorkloadRow& workload, const models::StepOptions& step) {
  return {.flops = 2 * rough_macs(workload, step) * static_cast<double>(step.batch),
          .bytes = static_cast<double>(rough_reads(step.mode) * workload.parameters) *
                   ops::element_bytes(step.precision)};
}

/// A decoding step's cache is that of one prompt, which all sequences follow.
double rough_set_up_flops(const models::WorkloadRow& workload, const models::StepOptions& step) {
  if (!workload.context.decodes) return 0;
  return 2 * rough_macs(workload, step) * static_cast<double>(context_of(workload, step));
}

/// Options of the process that runs a tuned step.
std::vector<std::string> tuned_switches() {
  std::vector<std::string> switches{"--fathom_malloc=tuned"};
  if (mkl_asks_for_vendor()) switches.emplace_back("--fathom_mkl=native");
  return switches;
}

/// Earlier choices of steps on backend:tuned, with the message where a row has none.
struct Recorded {
  StepChoices choices;
  std::string flag;  ///< --fathom_kernel_choice=FILE; empty: not wanted
  fixtures::MessageCallback warn;

  /// Reads the file of the options. Throws UsageError.
  static std::shared_ptr<const Recorded> of(const Conditions& conditions) {
    if (conditions.kernel_choice.empty()) return std::make_shared<const Recorded>();
    try {
      return std::make_shared<const Recorded>(
          Recorded{.choices = read_choices(conditions.kernel_choice),
                   .flag = "--fathom_kernel_choice=" + conditions.kernel_choice,
                   .warn = conditions.data.warn});
    } catch (const std::runtime_error& error) {
      throw UsageError(std::string("--fathom_kernel_choice=") + error.what());
    }
  }

  /// The choice of a row; null: it chooses itself.
  const StepChoice* find(const Row& row) const {
    const auto found = choices.find(row.name);
    if (found != choices.end()) return &found->second;
    if (!flag.empty()) warn(flag + ": holds no choice for " + row.name + ", which chooses again");
    return nullptr;
  }
};

void add_step(std::vector<Row>& rows, const Axes& axes, const Conditions& conditions,
              const models::WorkloadRow& workload, const models::StepOptions& step, Backend backend,
              const std::shared_ptr<const Recorded>& recorded) {
  const bool graph = step.device == Device::kCuda && backend != Backend::kInductor &&
                     (conditions.cuda_graph || backend == Backend::kTuned);
  const auto kernels = kernels_of(axes, backend, step.device, step.precision);
  const auto memory = [&workload, step] { return memory_counters(workload, step); };
  const std::string name(workload.name);
  const std::string on = backend_name(axes, backend);
  const std::string head =
      name + '/' + std::string(models::name(step.mode)) + token("device", step.device);
  const std::string tail = token("batch", step.batch) +
                           (step.context > 0 ? token("context", step.context) : "") +
                           token("precision", step.precision) + token("backend", on);
  add_rows(
      rows, axes, head, tail,
      {.device = step.device,
       .precision = step.precision,
       .backend = on,
       .own_process = kernels != nullptr,
       .needs_replacement = kernels != nullptr && !kernels->chooses() && !axes.keep_unreplaced,
       .switches = backend == Backend::kTuned ? tuned_switches() : std::vector<std::string>(),
       .make =
           [&workload, step, graph, kernels, recorded](const Row& row) {
             const bool chooses = kernels != nullptr && kernels->chooses();
             return make_model_task(workload, step, graph, kernels,
                                    chooses ? recorded->find(row) : nullptr);
           },
       .rates = {.flops = true,
                 .bytes = workload.counts_bytes && step.mode == models::Mode::kInfer},
       .memory = kernels == nullptr && !workload.compiled ? memory : std::function<Counters()>{},
       .cuda_graph = graph,
       .cost = rough_cost(workload, step),
       .set_up_flops = rough_set_up_flops(workload, step),
       .step = StepName{name, step.mode}});
  if (step.mode != models::Mode::kTrain || backend != Backend::kTorch) return;
  const auto bucket_bytes = static_cast<int64_t>(conditions.bucket_mb * (1 << 20));
  add_rank_rows(rows, axes, axes.ranks, head, tail,
                {.device = step.device,
                 .precision = step.precision,
                 .backend = on,
                 .make_rank =
                     [&workload, step, bucket_bytes](const Row&, const auto& group) {
                       models::StepOptions in_group = step;
                       in_group.ranks = {.group = group, .bucket_bytes = bucket_bytes};
                       return make_rank_model_task(workload, in_group);
                     },
                 .rates = {.flops = true},
                 .cost = rough_cost(workload, step),
                 .step = StepName{name, step.mode}});
}

/// Whether a step has layers that a quantised precision changes.
bool quantizes(const models::WorkloadRow& workload, models::Mode mode, Device device,
               Precision precision) {
  const std::string_view shapes = models::shapes_text(workload);
  return mode != models::Mode::kTrain && workload.quantizes && !shapes.empty() &&
         !ops::quantized_rows(ops::parse_shapes(shapes, workload.name), device, precision).empty();
}

void add_steps(std::vector<Row>& rows, const Axes& axes, const Conditions& conditions,
               const models::WorkloadRow& workload, models::Mode mode,
               const std::shared_ptr<const Recorded>& recorded) {
  std::vector<std::pair<int64_t, int64_t>> sizes;  // {batch, context}
  for (const int64_t batch : batches_of(axes, workload, mode)) {
    for (const int64_t context : contexts_of(axes, workload, mode))
      sizes.emplace_back(batch, context);
  }
  for_devices_and_precisions(axes, [&](Device device, Precision precision) {
    if (fixtures::is_quantized(precision) && !quantizes(workload, mode, device, precision)) return;
    for (const auto& [batch, context] : sizes) {
      const models::StepOptions step{.mode = mode,
                                     .device = device,
                                     .precision = precision,
                                     .batch = batch,
                                     .context = context,
                                     .seed = conditions.seed,
                                     .layout = conditions.layout,
                                     .data = conditions.data};
      for (const Backend backend : step_backends(axes, workload, device, precision))
        add_step(rows, axes, conditions, workload, step, backend, recorded);
    }
  });
}

}  // namespace

std::vector<Row> step_rows(const Axes& axes, const Conditions& conditions) {
  std::vector<Row> rows;
  const auto recorded = Recorded::of(conditions);
  for (const auto& workload : models::workloads()) {
    const Axes own = axes_of(workload, axes);
    for (const auto mode : models::modes(workload))
      add_steps(rows, own, conditions, workload, mode, recorded);
  }
  return rows;
}

std::vector<std::string> network_limits(const Axes& axes) {
  std::vector<std::string> lines;
  for (const auto& workload : models::workloads()) {
    const auto& compiled = workload.compiled;
    if (compiled && axes_of(workload, axes).threads != axes.threads) {
      lines.push_back(workload.name + " on inductor: rows of " +
                      fixtures::counted(compiled->threads, "thread") +
                      " only, which the package fixes; compile it with "
                      "inductor_configs={\"cpp.dynamic_threads\": True}");
    }
    if (compiled && compiled->of != nullptr) continue;  // which has the same batches
    const auto [least, most] = workload.batches;
    for (const int64_t batch : axes.batches) {
      if (workload.batches.contains(batch)) continue;
      lines.push_back(
          "--fathom_batch=" + std::to_string(batch) + ": no rows of " + workload.name +
          ", which takes batches of " + std::to_string(least) +
          (most > least ? " to " + std::to_string(most) : "; export it with dynamic_shapes"));
    }
  }
  return lines;
}

}  // namespace fathom::benchmarks
