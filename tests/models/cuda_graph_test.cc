// Steps as CUDA graphs. All but the refusals need a GPU.
#include <ATen/Context.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand_like.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "benchmarks/tasks/model_task.h"
#include "benchmarks/tasks/step_choice.h"
#include "fixtures/machine/device.h"
#include "models/step.h"
#include "ops/backends/operators/kernel_set.h"

namespace fathom::models {
namespace {

constexpr int kBatches = 4;  // steps that a capture runs first

StepOptions on_gpu(Mode mode) {
  return {.mode = mode,
          .device = fixtures::Device::kCuda,
          .batch = 4,
          .seed = 3,
          .scale = Scale::kSmall};
}

class CudaGraphs : public testing::Test {
 protected:
  void SetUp() override {
    const std::string& why = fixtures::unavailable_reason(fixtures::Device::kCuda);
    if (!why.empty()) GTEST_SKIP() << why;
    // Losses are compared after many steps, over which small differences grow.
    at::globalContext().setDeterministicCuDNN(true);
  }
  void TearDown() override { at::globalContext().setDeterministicCuDNN(false); }
};

class EveryCudaGraph : public CudaGraphs, public testing::WithParamInterface<std::string> {
 protected:
  const WorkloadRow& row() const { return workload(GetParam()); }

  /// Runs `capture`. Returns whether that is possible: faster_rcnn's steps read the numbers of
  /// regions on the host.
  template <typename Capture>
  bool captures(const Capture& capture) const {
    if (row().name != "faster_rcnn") {
      capture();
      return true;
    }
    try {
      capture();
      ADD_FAILURE() << "expected a refusal";
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find("cannot be captured in a CUDA graph"),
                std::string::npos)
          << error.what();
    }
    return false;
  }
};

INSTANTIATE_TEST_SUITE_P(Table, EveryCudaGraph, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& row : workloads()) names.emplace_back(row.name);
                           return names;
                         }()),
                         [](const auto& workload) { return workload.param; });

/// Losses of several rounds over the batches, after the same number of eager steps. Dropout, noise
/// and candidates go on as in eager steps.
TEST_P(EveryCudaGraph, HasTheLossesOfEagerSteps) {
  if (!row().trains) GTEST_SKIP() << "it has no training step";
  std::vector<std::vector<double>> losses;
  for (const bool graph : {false, true}) {
    Step step(row(), on_gpu(Mode::kTrain));
    for (int i = 0; i < kBatches; ++i) step.run();
    if (graph) {
      if (!captures([&] { step.capture(); })) return;
    } else {
      for (int i = 0; i < kBatches; ++i) step.run();
    }
    auto& all = losses.emplace_back();
    for (int i = 0; i < 3 * kBatches; ++i) {
      step.run();
      all.push_back(step.result().item<double>());
    }
  }
  for (std::size_t i = 0; i < losses[0].size(); ++i) {
    EXPECT_NEAR(losses[1][i], losses[0][i], 1e-2 * std::abs(losses[0][i])) << "step " << i;
  }
}

TEST_P(EveryCudaGraph, InfersWhatEagerStepsInfer) {
  Step eager(row(), on_gpu(Mode::kInfer));
  for (int i = 0; i < 2 * kBatches; ++i) eager.run();
  Step replayed(row(), on_gpu(Mode::kInfer));
  for (int i = 0; i < kBatches; ++i) replayed.run();
  if (!captures([&] { replayed.capture(); })) return;
  at::manual_seed(4);
  eager.run();
  at::manual_seed(4);
  replayed.run();
  EXPECT_TRUE(replayed.result().allclose(eager.result(), 1e-3, 1e-4));
}

/// The label of a row, and its FLOPs, which are counted before the capture.
TEST_P(EveryCudaGraph, IsNamedInTheLabel) {
  std::unique_ptr<benchmarks::Task> task;
  const auto make = [&] {
    task = benchmarks::make_model_task(row(), on_gpu(modes(row())[0]), /*cuda_graph=*/true);
  };
  if (!captures(make)) return;
  EXPECT_NE(task->counts().label.find("cuda_graph"), std::string::npos);
  EXPECT_TRUE(task->counts().flops);
  task->run();
  task->check();
}

/// On backend:tuned a step that cannot be captured runs without a graph.
TEST_P(EveryCudaGraph, IsChosenWherePossible) {
  const auto task =
      benchmarks::make_model_task(row(), on_gpu(modes(row())[0]),
                                  /*cuda_graph=*/true, ops::tuned_kernels(fixtures::Device::kCuda));
  const bool possible = row().name != "faster_rcnn";
  EXPECT_EQ(task->choice()->cuda_graph, possible);
  EXPECT_EQ(task->counts().label.find("cuda_graph") != std::string::npos, possible);
  task->warm_up_step();
  task->check();
}

/// A workload of one parameter whose loss is `compute(parameter)`.
class Tiny final : public Workload {
 public:
  using Compute = at::Tensor (*)(const at::Tensor& weight);

  explicit Tiny(Compute compute) : compute_(compute) {
    net_->register_parameter("weight", at::zeros({1000}));
  }
  fixtures::BatchSet batches(const fixtures::BatchRequest& request) const override {
    fixtures::BatchSet set;
    set.batches.resize(static_cast<std::size_t>(request.count), fixtures::Batch{at::zeros({1})});
    return set;
  }
  std::vector<int64_t> output_shape(int64_t /*batch*/) const override { return {}; }
  at::Tensor infer(const fixtures::Batch& /*batch*/) override {
    return compute_(net_->parameters()[0]);
  }
  at::Tensor loss(const fixtures::Batch& batch) override { return infer(batch); }
  void update() override { net_->zero_grad(); }
  torch::nn::Module& module() override { return *net_; }
  std::vector<at::Tensor> optimizer_state() const override { return {}; }

 private:
  Compute compute_;
  std::shared_ptr<torch::nn::Module> net_ = std::make_shared<torch::nn::Module>();
};

WorkloadRow tiny(std::unique_ptr<Workload> (*make)(Scale)) {
  WorkloadRow row = workload("memnet");
  row.make = make;
  return row;
}

TEST_F(CudaGraphs, DrawNewRandomNumbersInEachReplay) {
  Step step(tiny([](Scale) -> std::unique_ptr<Workload> {
              return std::make_unique<Tiny>(
                  [](const at::Tensor& weight) { return at::rand_like(weight).sum(); });
            }),
            on_gpu(Mode::kInfer));
  step.run();
  step.capture();
  std::vector<at::Tensor> sums;
  for (int i = 0; i < 2 * kBatches; ++i) {
    step.run();
    for (const auto& other : sums) EXPECT_FALSE(at::equal(step.result(), other));
    sums.push_back(step.result().clone());
  }
}

TEST_F(CudaGraphs, NameTheCallThatWaitsForTheGpu) {
  Step step(tiny([](Scale) -> std::unique_ptr<Workload> {
              return std::make_unique<Tiny>([](const at::Tensor& weight) {
                return weight.sum() * weight.sum().item<double>();
              });
            }),
            on_gpu(Mode::kTrain));
  step.run();
  std::string what;
  try {
    step.capture();
  } catch (const std::runtime_error& error) {
    what = error.what();
  }
  EXPECT_NE(what.find("aten::_local_scalar_dense cannot be captured in a CUDA graph: "),
            std::string::npos)
      << what;
  EXPECT_EQ(what.find('\n'), std::string::npos);
  // The process goes on: random numbers and other graphs work as before.
  Step next(workload("vgg"), on_gpu(Mode::kTrain));
  next.run();
  next.capture();
  next.run();
  EXPECT_TRUE(std::isfinite(next.result().item<double>()));
}

TEST(CudaGraphsWithoutAGpu, AreRefused) {
  if (fixtures::unavailable_reason(fixtures::Device::kCuda).empty())
    GTEST_SKIP() << "this machine has a GPU";
  Step step(workload("memnet"), {.batch = 2, .scale = Scale::kSmall});
  EXPECT_THROW(step.capture(), std::runtime_error);
}

}  // namespace
}  // namespace fathom::models
