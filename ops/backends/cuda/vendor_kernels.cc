#include "ops/backends/cuda/vendor_kernels.h"

#include <algorithm>

#include "ops/cuda/library.h"

namespace fathom::ops {
namespace {

using Clock = std::chrono::steady_clock;

class PlannedKernel final : public Kernel {
 public:
  PlannedKernel(cuda::Plan plan, double us)
      : plan_(std::move(plan)), create_us_(std::max(us, plan_.search_us)) {}

  void run() override { plan_.run(); }

  void write_outputs() override {
    if (plan_.write_outputs) plan_.write_outputs();
  }

  std::string implementation() const override { return plan_.implementation; }

  std::vector<std::pair<std::string, double>> counters() const override {
    return {{"create_us", create_us_},
            {"workspace_bytes", static_cast<double>(plan_.workspace_bytes)}};
  }

 private:
  cuda::Plan plan_;
  double create_us_;
};

cuda::Plan plan(const VendorCall& call) {
  const cuda::Target target{.stream = static_cast<cudaStream_t>(call.stream), .tf32 = call.tf32};
  const auto by_cublas = [&](const auto& problem) -> cuda::Plan {
    if constexpr (requires { cuda::cublas_plan(problem, target); }) {
      return cuda::cublas_plan(problem, target);
    }
    throw NotSupported("cuBLAS has no call for this op");
  };
  const auto by_cudnn = [&](const auto& problem) -> cuda::Plan {
    if constexpr (requires { cuda::cudnn_plan(problem, target); }) {
      return cuda::cudnn_plan(problem, target);
    }
    throw NotSupported("cuDNN has no call for this op");
  };
  return call.backend == Backend::kCublas ? std::visit(by_cublas, call.problem)
                                          : std::visit(by_cudnn, call.problem);
}

}  // namespace

std::unique_ptr<Kernel> make_vendor_kernel(const VendorCall& call) {
  const auto begin = Clock::now();
  cuda::Plan made = plan(call);
  const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  return std::make_unique<PlannedKernel>(std::move(made), us);
}

}  // namespace fathom::ops
