#include "benchmarks/op_task.h"

#include <ATen/ops/isfinite.h>
#include <c10/core/InferenceMode.h>

#include <map>
#include <stdexcept>

#include "ops/check.h"

namespace fathom::benchmarks {
namespace {

class OpTask final : public Task {
 public:
  OpTask(const ops::ShapeRow& row, const OpOptions& options) : op_(row.op), options_(options) {
    fixtures::allow_tf32(options.precision == fixtures::Precision::kTf32);
    const auto type = options.precision == fixtures::Precision::kBf16 ? at::kBFloat16 : at::kFloat;
    inputs_ =
        ops::converted(op_->inputs(options.seed), type, fixtures::torch_device(options.device));
    if (op_->in_place()) {
      for (const auto& input : inputs_) before_.push_back(input.clone());
    }
    call_ = options.backend == ops::Backend::kNative ? op_->native(inputs_) : op_->call(inputs_);
    if (call_ == nullptr) throw std::logic_error("no such backend for this op");
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
    outputs_ = call_();
    for (auto& output : outputs_) output = output.contiguous().zero_();
    kernel_ = op_->kernel(options_.backend, options_.precision, inputs_, outputs_);
    if (kernel_ == nullptr) throw std::logic_error("no such backend for this op");
    figures_.label = kernel_->implementation();
  }

  void run() override {
    if (kernel_ != nullptr) {
      kernel_->run();
    } else {
      const c10::InferenceMode inference;
      outputs_ = call_();
    }
  }

  void check() override {
    op_->check(op_->in_place() ? before_ : inputs_, outputs_, options_.precision);
    before_.clear();
  }

  void check_finite() override {
    for (const auto& output : outputs_) {
      if (!at::isfinite(output).all().item<bool>())
        throw std::runtime_error("the result is not finite");
    }
  }

  Figures figures() const override {
    Figures all = figures_;
    std::map<const void*, double> memory;  // views of one storage count once
    for (const auto& tensors : {inputs_, outputs_}) {
      for (const auto& tensor : tensors) {
        memory[tensor.storage().data()] = static_cast<double>(tensor.storage().nbytes());
      }
    }
    for (const auto& [storage, bytes] : memory) all.working_set += bytes;
    return all;
  }

 private:
  std::shared_ptr<const ops::Op> op_;
  OpOptions options_;
  ops::Tensors inputs_;
  ops::Tensors before_;  ///< the inputs of an update before its first call
  ops::Call call_;
  ops::Tensors outputs_;
  std::unique_ptr<ops::Kernel> kernel_;
  Figures figures_;
};

}  // namespace

std::unique_ptr<Task> make_op_task(const ops::ShapeRow& row, const OpOptions& options) {
  return std::make_unique<OpTask>(row, options);
}

}  // namespace fathom::benchmarks
