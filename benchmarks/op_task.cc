#include "benchmarks/op_task.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/InferenceMode.h>

#include <cmath>
#include <sstream>
#include <stdexcept>

namespace fathom::benchmarks {
namespace {

/// Largest error that rounding explains, as a share of the result's root mean square. The reference
/// reads the very inputs, rounded as the op sees them; a bf16 result is itself rounded to 2^-9 of
/// elements that reach five times the root mean square.
double tolerance(fixtures::Precision precision) {
  switch (precision) {
    case fixtures::Precision::kFp32:
      return 1e-4;
    case fixtures::Precision::kTf32:
      return 1e-2;
    case fixtures::Precision::kBf16:
      return 3e-2;
  }
  return 0;
}

ops::Tensors cast(const ops::Tensors& tensors, at::TensorOptions options) {
  ops::Tensors converted;
  for (const auto& tensor : tensors) converted.push_back(tensor.to(options));
  return converted;
}

class OpTask final : public Task {
 public:
  OpTask(const ops::ShapeRow& row, const OpOptions& options) : op_(row.op), options_(options) {
    fixtures::allow_tf32(options.precision == fixtures::Precision::kTf32);
    const auto type = options.precision == fixtures::Precision::kBf16 ? at::kBFloat16 : at::kFloat;
    inputs_ = cast(op_->inputs(options.seed),
                   at::TensorOptions(type).device(fixtures::torch_device(options.device)));
    const ops::Cost cost = op_->cost(options.precision);
    if (cost.flops > 0) figures_.flops = cost.flops;
    figures_.bytes = cost.bytes;
    figures_.counters.emplace_back("calls_per_model_step", static_cast<double>(row.count));
  }

  /// Libraries plan for a thread count, so their kernels are prepared anew.
  void threads_changed() override {
    if (options_.backend == ops::Backend::kTorch) return;
    const c10::InferenceMode inference;
    outputs_ = op_->run(inputs_);
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
      outputs_ = op_->run(inputs_);
    }
  }

  void check() override {
    const ops::Tensors expected =
        op_->run(cast(inputs_, at::TensorOptions(at::kDouble).device(at::kCPU)));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const at::Tensor found = outputs_[i].to(at::TensorOptions(at::kDouble).device(at::kCPU));
      if (found.sizes() != expected[i].sizes()) {
        std::ostringstream what;
        what << "output " << i << " has shape " << found.sizes() << ", expected "
             << expected[i].sizes();
        throw std::runtime_error(what.str());
      }
      const double scale = std::sqrt(expected[i].square().mean().item<double>());
      const double error = (found - expected[i]).abs().max().item<double>();
      const double limit = tolerance(options_.precision) * scale;
      if (!(error <= limit)) {  // also where the error is NaN
        std::ostringstream what;
        what << "output " << i << " differs from the float64 reference by " << error
             << ", expected at most " << limit;
        throw std::runtime_error(what.str());
      }
    }
  }

  void check_finite() override {
    for (const auto& output : outputs_) {
      if (!at::isfinite(output).all().item<bool>())
        throw std::runtime_error("the result is not finite");
    }
  }

  Figures figures() const override { return figures_; }

 private:
  std::shared_ptr<const ops::Op> op_;
  OpOptions options_;
  ops::Tensors inputs_;
  ops::Tensors outputs_;
  std::unique_ptr<ops::Kernel> kernel_;
  Figures figures_;
};

}  // namespace

std::unique_ptr<Task> make_op_task(const ops::ShapeRow& row, const OpOptions& options) {
  return std::make_unique<OpTask>(row, options);
}

}  // namespace fathom::benchmarks
