#include "benchmarks/op_task.h"

#include <ATen/ops/isfinite.h>
#include <c10/core/InferenceMode.h>

#include <cmath>
#include <map>
#include <stdexcept>

#include "benchmarks/peaks.h"
#include "ops/check.h"

namespace fathom::benchmarks {
namespace {

// Copies that an op's buffers may have: each also takes some kB for its tensors.
constexpr double kMostCopies = 4096;

/// Copies of an op's buffers that together are far beyond the last-level cache of all cores. An
/// update in place counts its memory twice in its bytes.
double copies_to_fill_caches(const ops::Op& op, const OpOptions& options) {
  const double caches = last_level_cache_bytes(options.device, fixtures::usable_cores());
  return std::ceil(2 * kBeyondCache * caches / op.cost(options.precision).bytes);
}

/// A call with buffers of its own.
struct Instance {
  ops::Tensors inputs;
  ops::Call call;
  ops::Tensors outputs;
  std::unique_ptr<ops::Kernel> kernel;  ///< of a vendor's library, instead of the call

  void run() {
    if (kernel != nullptr) {
      kernel->run();
    } else {
      const c10::InferenceMode inference;
      outputs = call();
    }
  }
};

class OpTask final : public Task {
 public:
  OpTask(const ops::ShapeRow& row, const OpOptions& options) : op_(row.op), options_(options) {
    fixtures::allow_tf32(options.precision == fixtures::Precision::kTf32);
    const auto type = options.precision == fixtures::Precision::kBf16 ? at::kBFloat16 : at::kFloat;
    const ops::Tensors inputs =
        ops::converted(op_->inputs(options.seed), type, fixtures::torch_device(options.device));
    if (op_->in_place()) before_ = ops::cloned(inputs);
    if (options.cache == Cache::kCold) {
      const auto copies = static_cast<std::size_t>(copies_to_fill_caches(*op_, options));
      for (std::size_t i = 1; i < copies; ++i) {
        add_instance(ops::cloned(inputs));
        instances_.back().run();  // its result's memory is the system's to give, once
      }
    }
    add_instance(inputs);
    next_ = instances_.size() - 1;  // the one that is checked
    const ops::Cost cost = op_->cost(options.precision);
    if (cost.flops > 0) figures_.flops = cost.flops;
    if (cost.bytes > 0) figures_.bytes = cost.bytes;
    for (const auto& [name, count] : {std::pair("calls_per_model_step", row.count),
                                      std::pair("calls_per_inference", row.infer_count)}) {
      if (count > 0) figures_.counters.emplace_back(name, static_cast<double>(count));
    }
  }

  /// Libraries plan for a thread count, so their kernels are prepared anew.
  void threads_changed() override {
    if (options_.backend != ops::Backend::kOneDnn) return;
    const c10::InferenceMode inference;
    for (auto& one : instances_) {
      one.outputs = one.call();
      for (auto& output : one.outputs) output = output.contiguous().zero_();
      one.kernel = op_->kernel(options_.backend, options_.precision, one.inputs, one.outputs);
      if (one.kernel == nullptr) throw std::logic_error("no such backend for this op");
      figures_.label = one.kernel->implementation();
    }
  }

  void run() override {
    last_ = next_;
    next_ = next_ + 1 < instances_.size() ? next_ + 1 : 0;
    instances_[last_].run();
  }

  void check() override {
    const Instance& one = instances_[last_];
    op_->check(op_->in_place() ? before_ : one.inputs, one.outputs, options_.precision);
    before_.clear();
  }

  void check_finite() override {
    for (const auto& output : instances_[last_].outputs) {
      if (!at::isfinite(output).all().item<bool>())
        throw std::runtime_error("the result is not finite");
    }
  }

  Figures figures() const override {
    Figures all = figures_;
    std::map<const void*, double> memory;  // views of one storage count once
    for (const auto& one : instances_) {
      for (const auto* tensors : {&one.inputs, &one.outputs}) {
        for (const auto& tensor : *tensors) {
          memory[tensor.storage().data()] = static_cast<double>(tensor.storage().nbytes());
        }
      }
    }
    for (const auto& [storage, bytes] : memory) all.working_set += bytes;
    return all;
  }

 private:
  void add_instance(const ops::Tensors& inputs) {
    const bool native = options_.backend == ops::Backend::kNative;
    instances_.push_back({.inputs = inputs,
                          .call = native ? op_->native(inputs) : op_->call(inputs),
                          .outputs = {},
                          .kernel = nullptr});
    if (instances_.back().call == nullptr) throw std::logic_error("no such backend for this op");
  }

  std::shared_ptr<const ops::Op> op_;
  OpOptions options_;
  ops::Tensors before_;  ///< the inputs of an update before its first call
  std::vector<Instance> instances_;
  std::size_t next_ = 0;
  std::size_t last_ = 0;
  Figures figures_;
};

}  // namespace

bool runs_cold(const ops::Op& op, const OpOptions& options) {
  return copies_to_fill_caches(op, options) <= kMostCopies;
}

std::unique_ptr<Task> make_op_task(const ops::ShapeRow& row, const OpOptions& options) {
  return std::make_unique<OpTask>(row, options);
}

}  // namespace fathom::benchmarks
