#include "benchmarks/tasks/op_task.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "benchmarks/machine/peaks.h"
#include "benchmarks/tasks/placement.h"
#include "benchmarks/tasks/replaced.h"
#include "fixtures/machine/memory.h"
#include "ops/backends/vendor.h"
#include "ops/core/check.h"
#include "ops/core/kernel.h"
#include "ops/profiler/flops.h"

namespace fathom::benchmarks {
namespace {

/// Throws DataError where the memory is too small for a row, before anything is allocated. Inputs
/// are there twice, and most checks convert inputs and outputs to float64.
void expect_memory_for(const ops::ShapeRow& row) {
  constexpr auto kPrecision = fixtures::Precision::kFp32;
  constexpr double kMost = 1e18;  // fits into int64_t
  const double bytes = row.op->cost(kPrecision).bytes + row.op->untouched_bytes(kPrecision);
  const double copies = row.pass == ops::Pass::kUpdate ? 2 : 4;
  const double buffers = row.op->in_place() ? 0.5 : 1;  // that are read and written count twice
  fixtures::expect_memory(static_cast<int64_t>(std::min(copies * buffers * bytes, kMost)),
                          "the op with its check", "expected a smaller shape");
}

// Limit on the copies of an op's buffers: the tensors of each copy take some kB more.
constexpr double kMaxCopies = 4096;

/// The copies of an op's buffers that fill kBeyondCache times the last-level cache of all cores.
double copies_to_fill_caches(const ops::Op& op, const OpOptions& options) {
  const double caches = last_level_cache_bytes(options.device, fixtures::usable_cores());
  const int counted = op.in_place() ? 2 : 1;  // times that Cost::bytes counts each buffer
  return std::ceil(counted * kBeyondCache * caches /
                   op.cost_on(options.device, options.precision).bytes);
}

/// Sets the threads to all cores while it exists, for untimed work.
class AllCores {
 public:
  AllCores() : before_(at::get_num_threads()) { fixtures::set_threads(fixtures::usable_cores()); }
  AllCores(const AllCores&) = delete;
  AllCores& operator=(const AllCores&) = delete;
  ~AllCores() { fixtures::set_threads(before_); }

 private:
  int before_;
};

/// Inputs and exact results, which take longer to compute than the op runs. All rows of an op share
/// them. Only those of the last op are kept, since the rows of an op follow each other.
class Common {
 public:
  static Common& of(const std::shared_ptr<const ops::Op>& op, const OpOptions& options) {
    static Common last;
    if (last.op_ != op || last.precision_ != options.precision || last.seed_ != options.seed) {
      last = {};  // frees its memory before the next allocation
      last.op_ = op;
      last.precision_ = options.precision;
      last.seed_ = options.seed;
      last.inputs_ =
          ops::converted(op->inputs(options.seed), ops::scalar_type(options.precision), at::kCPU);
    }
    return last;
  }

  /// On the CPU, in the row's precision. Read only.
  const ops::Tensors& inputs() const { return inputs_; }

  /// op->exact() of the inputs.
  const ops::Tensors& exact() {
    if (exact_.empty()) {
      const AllCores cores;
      exact_ = op_->exact(inputs_);
    }
    return exact_;
  }

  /// Meta tensors with the sizes, strides and types of call()'s results; empty before the first
  /// call.
  ops::Tensors outputs;

 private:
  std::shared_ptr<const ops::Op> op_;
  fixtures::Precision precision_ = fixtures::Precision::kFp32;
  uint64_t seed_ = 0;
  ops::Tensors inputs_;
  ops::Tensors exact_;
};

/// A call and its own buffers.
struct Instance {
  ops::Tensors inputs;
  ops::Call call;
  ops::Tensors outputs;
  std::unique_ptr<ops::Kernel> kernel;  ///< of a vendor's library; if set, replaces the call

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
  OpTask(const ops::ShapeRow& row, const OpOptions& options)
      : type_(row.type), op_(row.op), options_(options) {
    expect_memory_for(row);
    fixtures::allow_tf32(options.precision == fixtures::Precision::kTf32);
    at::globalContext().setBenchmarkCuDNN(true);  // as in the models' steps
    const ops::Tensors inputs =
        ops::converted(common().inputs(), ops::scalar_type(options.precision),
                       fixtures::torch_device(options.device));
    if (options.kernels != nullptr) install_kernels(inputs);
    add_instance(copied_at_random_offset(inputs));
    if (options.cache == Cache::kCold) add_copies(inputs);
    const ops::Cost cost = op_->cost_on(options.device, options.precision);
    if (cost.flops > 0) counts_.flops = cost.flops;
    if (cost.bytes > 0) counts_.bytes = cost.bytes;
    for (const auto& [name, count] : {std::pair("calls_per_model_step", row.count),
                                      std::pair("calls_per_inference", row.infer_count)}) {
      if (count > 0) counts_.counters.emplace_back(name, static_cast<double>(count));
    }
    if (!ops::is_vendor(options.backend)) counts_.label = op_->kernel(options.backend);
    if (const auto error = op_->quantization_error(options.seed))
      counts_.counters.emplace_back("quantization_error", *error);
  }

  /// Makes vendor kernels again, which are prepared for one thread count. Resets the inputs of an
  /// in-place op, since the check that follows expects the result of a first step.
  void threads_changed() override {
    if (op_->in_place()) {
      Instance& next = instances_[next_];
      for (std::size_t i = 0; i < next.inputs.size(); ++i) {
        next.inputs[i].copy_(common().inputs()[i]);
      }
      next.call = call_over(next.inputs);
    }
    if (!ops::is_vendor(options_.backend)) return;
    const c10::InferenceMode inference;
    for (auto& one : instances_) {
      one.kernel.reset();
      if (one.outputs.empty()) one.outputs = outputs_in_memory();
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

  void warm_up_step() override {
    if (options_.kernels == nullptr || !counts_.label.empty()) return run();
    counts_.label =
        replaced(*options_.kernels, options_.device, ops::count_flops([this] { run(); }).operators);
  }

  void check() override {
    Instance& one = instances_[last_];
    if (one.kernel != nullptr) one.kernel->write_outputs();
    check_outputs(one.outputs);
  }

  void check_finite() override {
    Instance& one = instances_[last_];
    if (one.kernel != nullptr) one.kernel->write_outputs();
    for (const auto& output : one.outputs) {
      if (!output.is_floating_point() || output.numel() == 0) continue;
      const auto [min, max] = at::aminmax(output);  // NaN if any element is NaN
      if (!std::isfinite(min.item<double>()) || !std::isfinite(max.item<double>()))
        throw std::runtime_error("the result is not finite");
    }
  }

  StepCounts counts() const override {
    StepCounts all = counts_;
    std::map<const void*, double> memory;  // views of one storage count once
    for (const auto& one : instances_) {
      for (const auto* tensors : {&one.inputs, &one.outputs}) {
        for (const auto& tensor : *tensors) {
          memory[tensor.storage().data()] = static_cast<double>(tensor.storage().nbytes());
        }
      }
    }
    for (const auto& [storage, bytes] : memory) all.working_set += bytes;
    all.working_set -=
        op_->untouched_bytes(options_.precision) * static_cast<double>(instances_.size());
    if (const auto* kernel = instances_[0].kernel.get(); kernel != nullptr) {
      all.label = kernel->implementation();
      for (const auto& figure : kernel->counters()) all.counters.push_back(figure);
    }
    return all;
  }

 private:
  /// The check of LibTorch's own result keeps the exact one, which LibTorch's kernels compute.
  void install_kernels(const ops::Tensors& inputs) {
    Instance one{
        .inputs = copied_at_random_offset(inputs), .call = {}, .outputs = {}, .kernel = {}};
    one.call = call_over(one.inputs);
    one.run();
    check_outputs(one.outputs);
    options_.kernels->install(nullptr);
  }

  void check_outputs(const ops::Tensors& outputs) {
    try {
      op_->check(common().inputs(), outputs, options_.precision, [&] { return common().exact(); });
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(error.what() + inexact_sums());
    }
  }

  /// Why a vendor's kernel that is right may fail its check; "" where none is known to.
  std::string inexact_sums() const {
    if (options_.backend != ops::Backend::kOneDnn || type_->name != "batch_norm") return "";
    return "; oneDNN adds up each channel in float32, every thread a part of it: more threads make "
           "the error smaller";
  }

  void add_copies(const ops::Tensors& inputs) {
    const auto copies = static_cast<std::size_t>(copies_to_fill_caches(*op_, options_));
    for (std::size_t i = 1; i < copies; ++i) {
      add_instance(copied_at_random_offset(inputs));
      // The first write to new memory causes page faults, which may take longer than the call.
      if (!op_->in_place()) instances_[i].outputs = outputs_in_memory();
    }
  }

  /// Zero tensors with the sizes, strides and types of call()'s results.
  ops::Tensors outputs_in_memory() {
    const c10::InferenceMode inference;
    ops::Tensors& known = common().outputs;
    if (known.empty()) {
      instances_[0].run();
      for (const auto& output : instances_[0].outputs) {
        known.push_back(at::empty_like(output, at::kMeta));
      }
    }
    ops::Tensors made;
    for (const auto& output : known) {
      made.push_back(at::zeros_like(output, fixtures::torch_device(options_.device)));
    }
    return made;
  }

  void add_instance(const ops::Tensors& inputs) {
    instances_.push_back(
        {.inputs = inputs, .call = call_over(inputs), .outputs = {}, .kernel = nullptr});
  }

  ops::Call call_over(const ops::Tensors& inputs) const {
    const bool native = options_.backend == ops::Backend::kNative;
    ops::Call call = native ? op_->native(inputs) : op_->call(inputs);
    if (call == nullptr) throw std::logic_error("this op has no such backend");
    return call;
  }

  Common& common() const { return Common::of(op_, options_); }

  const ops::OpType* type_;
  std::shared_ptr<const ops::Op> op_;
  OpOptions options_;
  std::vector<Instance> instances_;
  std::size_t next_ = 0;  ///< 0 at first: check() uses the first instance
  std::size_t last_ = 0;
  StepCounts counts_;
};

}  // namespace

bool runs_cold(const ops::Op& op, const OpOptions& options) {
  return copies_to_fill_caches(op, options) <= kMaxCopies &&
         op.untouched_bytes(options.precision) <=
             op.cost_on(options.device, options.precision).bytes;
}

bool exceeds_caches(const ops::Op& op, const OpOptions& options) {
  return copies_to_fill_caches(op, options) <= 1;
}

std::unique_ptr<Task> make_op_task(const ops::ShapeRow& row, const OpOptions& options) {
  return std::make_unique<OpTask>(row, options);
}

}  // namespace fathom::benchmarks
