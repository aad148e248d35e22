#include "benchmarks/op_task.h"

#include <ATen/ops/isfinite.h>
#include <c10/core/InferenceMode.h>

#include <cmath>
#include <map>
#include <stdexcept>

#include "benchmarks/peaks.h"
#include "benchmarks/placement.h"
#include "ops/check.h"
#include "ops/kernel.h"
#include "ops/vendor.h"

namespace fathom::benchmarks {
namespace {

// Copies that an op's buffers may have: each also takes some kB for its tensors.
constexpr double kMostCopies = 4096;

/// Copies of an op's buffers that together are far beyond the last-level cache of all cores.
double copies_to_fill_caches(const ops::Op& op, const OpOptions& options) {
  const double caches = last_level_cache_bytes(options.device, fixtures::usable_cores());
  const int counted = op.in_place() ? 2 : 1;  // how often an op's bytes count its memory
  return std::ceil(counted * kBeyondCache * caches / op.cost(options.precision).bytes);
}

/// What an op's rows have in common. Both take longer than the op itself, so those of the last op
/// are kept: its rows follow each other.
struct Common {
  std::shared_ptr<const ops::Op> op;
  fixtures::Precision precision;
  uint64_t seed;
  ops::Tensors inputs;  ///< as the op makes them
  ops::Tensors exact;   ///< float64 results, once asked for
};

Common& common(const std::shared_ptr<const ops::Op>& op, const OpOptions& options) {
  static Common last;
  if (last.op != op || last.precision != options.precision || last.seed != options.seed) {
    last = {};  // before the next one takes memory
    last = {.op = op,
            .precision = options.precision,
            .seed = options.seed,
            .inputs = op->inputs(options.seed),
            .exact = {}};
  }
  return last;
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
        ops::converted(common(op_, options).inputs, type, fixtures::torch_device(options.device));
    add_instance(placed_anew(inputs));
    if (options.cache == Cache::kCold) add_copies(inputs);
    const ops::Cost cost = op_->cost(options.precision);
    if (cost.flops > 0) figures_.flops = cost.flops;
    if (cost.bytes > 0) figures_.bytes = cost.bytes;
    for (const auto& [name, count] : {std::pair("calls_per_model_step", row.count),
                                      std::pair("calls_per_inference", row.infer_count)}) {
      if (count > 0) figures_.counters.emplace_back(name, static_cast<double>(count));
    }
  }

  /// A check follows. Libraries plan for a thread count, so their kernels are prepared anew; an
  /// update's next step is checked as its first.
  void threads_changed() override {
    if (op_->in_place()) {
      Instance& next = instances_[next_];
      before_ = ops::cloned(next.inputs);
      next.call = call_over(next.inputs);
    }
    if (!ops::is_vendor(options_.backend)) return;
    if (instances_[0].outputs.empty()) instances_[0].run();
    const c10::InferenceMode inference;
    for (auto& one : instances_) {
      one.kernel.reset();
      for (auto& output : one.outputs) output = output.contiguous().zero_();
      one.kernel = ops::vendor_kernel(options_.backend, op_->problem(one.inputs, one.outputs),
                                      options_.precision);
    }
  }

  void run() override {
    last_ = next_;
    next_ = next_ + 1 < instances_.size() ? next_ + 1 : 0;
    instances_[last_].run();
  }

  void check() override {
    Instance& one = instances_[last_];
    if (one.kernel != nullptr) one.kernel->write_outputs();
    if (op_->in_place()) {
      op_->check(before_, one.outputs, options_.precision);
      before_.clear();
    } else {
      op_->check(one.inputs, one.outputs, options_.precision, [&] {
        Common& known = common(op_, options_);
        if (known.exact.empty()) known.exact = op_->exact(one.inputs);
        return known.exact;
      });
    }
  }

  void check_finite() override {
    Instance& one = instances_[last_];
    if (one.kernel != nullptr) one.kernel->write_outputs();
    for (const auto& output : one.outputs) {
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
    if (const auto* kernel = instances_[0].kernel.get(); kernel != nullptr) {
      all.label = kernel->implementation();
      for (const auto& figure : kernel->figures()) all.counters.push_back(figure);
    }
    return all;
  }

 private:
  void add_copies(const ops::Tensors& inputs) {
    const auto copies = static_cast<std::size_t>(copies_to_fill_caches(*op_, options_));
    if (copies > 1 && !op_->in_place()) instances_[0].run();
    for (std::size_t i = 1; i < copies; ++i) {
      add_instance(placed_anew(inputs));
      // Memory for results is the system's to give, once, and may take longer than the call.
      instances_[i].outputs = ops::cloned(instances_[0].outputs);
    }
  }

  void add_instance(const ops::Tensors& inputs) {
    instances_.push_back(
        {.inputs = inputs, .call = call_over(inputs), .outputs = {}, .kernel = nullptr});
  }

  ops::Call call_over(const ops::Tensors& inputs) const {
    const bool native = options_.backend == ops::Backend::kNative;
    ops::Call call = native ? op_->native(inputs) : op_->call(inputs);
    if (call == nullptr) throw std::logic_error("no such backend for this op");
    return call;
  }

  std::shared_ptr<const ops::Op> op_;
  OpOptions options_;
  ops::Tensors before_;  ///< the inputs of an update before the call that is checked
  std::vector<Instance> instances_;
  std::size_t next_ = 0;  ///< the first is the one that is checked
  std::size_t last_ = 0;
  Figures figures_;
};

}  // namespace

bool runs_cold(const ops::Op& op, const OpOptions& options) {
  return copies_to_fill_caches(op, options) <= kMostCopies &&
         op.untouched_bytes(options.precision) <= op.cost(options.precision).bytes;
}

bool runs_cold_anyway(const ops::Op& op, const OpOptions& options) {
  return copies_to_fill_caches(op, options) <= 1;
}

std::unique_ptr<Task> make_op_task(const ops::ShapeRow& row, const OpOptions& options) {
  return std::make_unique<OpTask>(row, options);
}

}  // namespace fathom::benchmarks
