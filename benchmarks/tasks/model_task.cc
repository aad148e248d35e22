#include "benchmarks/tasks/model_task.h"

#include <ATen/ops/isfinite.h>
#include <malloc.h>

#include <array>
#include <chrono>
#include <sstream>
#include <stdexcept>

#include "benchmarks/tasks/installed_kernels.h"
#include "benchmarks/tasks/replaced.h"
#include "models/memory.h"
#include "ops/profiler/flops.h"

namespace fathom::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

/// `Base` is Task or, in a group of ranks, RankTask.
template <typename Base>
class ModelTask : public Base {
 public:
  template <typename... BaseArguments>
  ModelTask(const models::WorkloadRow& row, const models::StepOptions& options, bool cuda_graph,
            std::shared_ptr<ops::KernelSet> kernels, InstalledKernels installed,
            BaseArguments&&... base)
      : Base(std::forward<BaseArguments>(base)...),
        kernels_(std::move(kernels)),
        installed_(std::move(installed)),
        step_(row, options) {
    const int64_t items = options.mode == models::Mode::kTrain ? row.train_items : 1;
    counts_.items = static_cast<double>(options.ranks.size() * options.batch * items);
    const int64_t context = context_of(row, options);
    const double content = *counts_.items * content_of_item(row, options.mode, context);
    if (!row.content.rate.empty())
      counts_.rates.emplace_back(std::string(row.content.rate), content);
    if (reads_prompt(row, options.mode))
      counts_.rates.emplace_back("prefill_tokens_per_second", content);
    if (row.context.decodes) counts_.milliseconds = "decode_ms_per_token";
    if (context > 0) counts_.counters.emplace_back("context_tokens", static_cast<double>(context));
    const int64_t parameters = row.compiled ? row.parameters : step_.parameter_count();
    if (installed_.distance)
      counts_.counters.emplace_back("distance_to_fp32", *installed_.distance);
    if (parameters > 0) counts_.counters.emplace_back("params", static_cast<double>(parameters));
    if (!options.data.synthetic()) {
      counts_.counters.emplace_back("skipped_items", static_cast<double>(step_.skipped_items()));
    }
    if (options.layout != models::Layout::kContiguous && step_.has_convolutions()) {
      add_to_label(std::string(name(options.layout)));
    }
    if (options.mode == models::Mode::kInfer) {
      read_ = step_.workload().infer_bytes();
    }
    if (cuda_graph) {
      ModelTask::run();  // allocates the optimizer's state
      ModelTask::warm_up_step();
      step_.capture();
      add_to_label("cuda_graph");
    }
  }

  void run() override { step_.run(); }

  /// The first one also counts the FLOPs of the step and records which kernels LibTorch chose.
  void warm_up_step() override {
    if (counted_) return run();
    counted_ = true;
    const ops::StepFlops step = ops::count_flops([this] { run(); });
    for (const auto& choice : step.choices) add_to_label(choice);
    if (const auto* quantized = step_.quantized(); quantized != nullptr) {
      add_to_label(quantized->kernels());
      if (read_) read_->weights -= quantized->saved_bytes();
    }
    if (read_) {
      counts_.bytes = counts_.working_set = read_->total();
      counts_.counters.emplace_back("weight_bytes", read_->weights);
      counts_.counters.emplace_back("cache_bytes", read_->cache);
    }
    if (kernels_ != nullptr && (step_.quantized() == nullptr || kernels_->chooses())) {
      const auto operators = kernels_->replaced().value_or(step.operators);
      add_to_label(replaced(*kernels_, step_.options().device, operators));
    }
    const double flops = step_.options().ranks.size() * installed_.flops.value_or(step.flops);
    if (flops == 0 || !step.uncounted.empty()) return;
    counts_.flops = flops;
    counts_.counters.emplace_back("flops_per_step", flops);
  }

  void check() override {
    if (step_.result().sizes() != c10::IntArrayRef(step_.result_shape())) {
      std::ostringstream what;
      what << "the result of the first step has sizes " << step_.result().sizes() << ", expected "
           << c10::IntArrayRef(step_.result_shape());
      throw std::runtime_error(what.str());
    }
    check_finite();
  }

  void check_finite() override {
    if (!at::isfinite(step_.result()).all().item<bool>()) {
      throw std::runtime_error(std::string("the ") +
                               (step_.options().mode == models::Mode::kTrain ? "loss" : "output") +
                               " is not finite");
    }
  }

  StepCounts counts() const override { return counts_; }

  std::shared_ptr<const StepChoice> choice() const override { return installed_.choice; }

  /// These steps are not timed as a whole, since each phase ends with a device synchronization.
  Counters phases_us(int64_t steps) override {
    if (step_.options().mode == models::Mode::kInfer) return {};
    std::array<double, models::kPhaseNames.size()> us{};
    for (int64_t step = 0; step < steps; ++step) {
      auto begin = Clock::now();
      step_.run([&](models::Phase phase) {
        fixtures::synchronize(step_.options().device);
        const auto end = Clock::now();
        us[static_cast<std::size_t>(phase)] +=
            std::chrono::duration<double, std::micro>(end - begin).count();
        begin = end;
      });
    }
    Counters counters;
    for (std::size_t phase = 0; phase < us.size(); ++phase) {
      if (us[phase] == 0) continue;  // of other modes
      counters.emplace_back(std::string(models::kPhaseNames[phase]) + "_us",
                            us[phase] / static_cast<double>(steps));
    }
    return counters;
  }

 protected:
  models::Step& step() { return step_; }

 private:
  void add_to_label(const std::string& word) {
    counts_.label += (counts_.label.empty() ? "" : " ") + word;
  }

  std::shared_ptr<ops::KernelSet> kernels_;
  InstalledKernels installed_;
  models::Step step_;
  bool counted_ = false;
  StepCounts counts_;
  std::optional<models::BytesRead> read_;  ///< by an inference
};

class RankModelTask final : public ModelTask<RankTask> {
 public:
  RankModelTask(const models::WorkloadRow& row, const models::StepOptions& options)
      : ModelTask(row, options, /*cuda_graph=*/false, nullptr, {}, options.ranks.group,
                  options.device) {}

  bool computes() const override { return true; }
  void run_local() override { step().run_local(); }
  void equalize() override { step().reduction()->copy_from_rank_0(); }
  void check_ranks() override { step().reduction()->check_parameters(); }

  Counters watch(int64_t steps) override {
    models::GradientReduction& reduction = *step().reduction();
    reduction.watch();
    for (int64_t i = 0; i < steps; ++i) run();
    const models::Communication all = reduction.stop_watching();
    const auto count = static_cast<double>(steps);
    return {{"comm_us", all.seconds * 1e6 / count},
            {"overlapped_us", all.overlapped * 1e6 / count},
            {"gradient_bytes", all.bytes / count},
            {"buckets", static_cast<double>(all.buckets) / count}};
  }
};

}  // namespace

std::unique_ptr<RankTask> make_rank_model_task(const models::WorkloadRow& row,
                                               const models::StepOptions& options) {
  return std::make_unique<RankModelTask>(row, options);
}

std::unique_ptr<Task> make_model_task(const models::WorkloadRow& row,
                                      const models::StepOptions& options, bool cuda_graph,
                                      std::shared_ptr<ops::KernelSet> kernels,
                                      const StepChoice* recorded) {
  models::StepOptions chosen = options;
  InstalledKernels installed;
  if (kernels != nullptr) {
    installed = install(*kernels, row, options, cuda_graph, recorded);
    malloc_trim(0);  // --fathom_malloc=tuned keeps what the compared steps freed
  }
  if (row.compiled) {
    const models::WorkloadRow* before = row.compiled->of;
    installed.flops = before == nullptr ? 0 : compare_steps(*before, row, options);
  }
  if (installed.choice) {
    chosen.layout = installed.choice->layout;
    cuda_graph = installed.choice->cuda_graph;
  }
  if (options.precision != fixtures::Precision::kFp32)
    installed.distance = distance_to_fp32(row, options);
  return std::make_unique<ModelTask<Task>>(row, chosen, cuda_graph, std::move(kernels),
                                           std::move(installed));
}

Counters memory_counters(const models::WorkloadRow& row, const models::StepOptions& options) {
  const auto [measured, predicted] = models::step_memory(row, options);
  Counters counters{{"memory_peak_bytes", measured.peak}};
  for (std::size_t i = 0; i < ops::kMemoryClassNames.size(); ++i) {
    const std::string name = "memory_" + std::string(ops::kMemoryClassNames[i]);
    counters.emplace_back(name + "_bytes", measured.max[i]);
    counters.emplace_back(name + "_at_peak_bytes", measured.at_peak[i]);
    if (predicted[i]) counters.emplace_back(name + "_predicted_bytes", *predicted[i]);
  }
  return counters;
}

}  // namespace fathom::benchmarks
