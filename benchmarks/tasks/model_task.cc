#include "benchmarks/tasks/model_task.h"

#include <ATen/ops/isfinite.h>
#include <malloc.h>

#include <array>
#include <chrono>
#include <sstream>
#include <stdexcept>

#include "benchmarks/tasks/first_steps.h"
#include "benchmarks/tasks/replaced.h"
#include "models/memory.h"
#include "ops/profiler/flops.h"

namespace fathom::benchmarks {
namespace {

class ModelTask final : public Task {
 public:
  ModelTask(const models::WorkloadRow& row, const models::StepOptions& options, bool cuda_graph,
            std::shared_ptr<const ops::KernelSet> kernels)
      : kernels_(std::move(kernels)), step_(row, options) {
    const int64_t items = options.mode == models::Mode::kTrain ? row.train_items : 1;
    counts_.items = static_cast<double>(options.batch * items);
    if (!row.content.rate.empty()) {
      counts_.rates.emplace_back(std::string(row.content.rate),
                                 *counts_.items * row.content.per_item);
    }
    counts_.counters.emplace_back("params", static_cast<double>(step_.parameter_count()));
    if (!options.data.synthetic()) {
      counts_.counters.emplace_back("skipped_items", static_cast<double>(step_.skipped_items()));
    }
    if (options.layout != models::Layout::kContiguous && step_.has_convolutions()) {
      add_to_label(std::string(name(options.layout)));
    }
    if (options.mode == models::Mode::kInfer) {
      counts_.bytes = step_.workload().infer_bytes();
      counts_.working_set = counts_.bytes.value_or(0);
    }
    if (cuda_graph) {
      run();  // allocates the optimizer's state
      warm_up_step();
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
    if (kernels_ != nullptr) {
      const auto& operators = kernels_->replaced ? kernels_->replaced() : step.operators;
      add_to_label(replaced(*kernels_, step_.options().device, operators));
    }
    if (step.flops == 0) return;
    counts_.flops = step.flops;
    counts_.counters.emplace_back("flops_per_step", step.flops);
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
      counters.emplace_back(std::string(models::kPhaseNames[phase]) + "_us",
                            us[phase] / static_cast<double>(steps));
    }
    return counters;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void add_to_label(const std::string& word) {
    counts_.label += (counts_.label.empty() ? "" : " ") + word;
  }

  std::shared_ptr<const ops::KernelSet> kernels_;
  models::Step step_;
  bool counted_ = false;
  StepCounts counts_;
};

/// Seconds of a step after the first one, on LibTorch's kernels.
double step_seconds(const models::WorkloadRow& row, const models::StepOptions& options) {
  using Clock = std::chrono::steady_clock;
  models::Step step(row, options);
  step.run();
  const auto begin = Clock::now();
  step.run();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

models::Layout faster_layout(const models::WorkloadRow& row, const models::StepOptions& options) {
  models::StepOptions other = options;
  other.layout = models::Layout::kChannelsLast;
  if (!models::Step(row, options).has_convolutions()) return options.layout;
  return step_seconds(row, other) < step_seconds(row, options) ? other.layout : options.layout;
}

/// Installs the kernels and compares the step's results with LibTorch's. Returns the step's
/// options, with the layout that the kernels chose.
models::StepOptions installed(const ops::KernelSet& kernels, const models::WorkloadRow& row,
                              const models::StepOptions& options) {
  const auto expected = first_steps(row, options);
  const auto rounded = first_steps(row, options, kComparedSteps, /*rounded=*/true);
  models::StepOptions chosen = options;
  if (kernels.chooses_layout) chosen.layout = faster_layout(row, options);
  kernels.install();
  // A step on each batch, because their shapes may differ.
  const auto found = first_steps(row, chosen, models::kBatches);
  expect_same_results(expected, rounded, found, options.precision);
  if (kernels.settle) kernels.settle();
  return chosen;
}

}  // namespace

std::unique_ptr<Task> make_model_task(const models::WorkloadRow& row,
                                      const models::StepOptions& options, bool cuda_graph,
                                      std::shared_ptr<const ops::KernelSet> kernels) {
  if (kernels == nullptr) return std::make_unique<ModelTask>(row, options, cuda_graph, nullptr);
  const models::StepOptions chosen = installed(*kernels, row, options);
  malloc_trim(0);  // --fathom_malloc=tuned keeps what the compared steps freed
  return std::make_unique<ModelTask>(row, chosen, cuda_graph, std::move(kernels));
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
