#include "models/memory.h"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/container/functional.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "fixtures/machine/device.h"
#include "models/image_workload.h"
#include "models/optimizers.h"

namespace fathom::models {
namespace {

using ops::MemoryClass;

template <typename Value>
Value of(const ops::ByMemoryClass<Value>& bytes, MemoryClass what) {
  return bytes[static_cast<std::size_t>(what)];
}

/// Counts the bytes that LibTorch's own allocator hands out, independent of its reports.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* const memory = c10::GetDefaultCPUAllocator()->raw_allocate(bytes);
    sizes_[memory] += bytes;
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    return {memory, memory, release, at::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

  static std::size_t live() { return live_; }
  /// The peak since the last call.
  static std::size_t take_peak() { return std::exchange(peak_, live_); }

 private:
  static void release(void* memory) {
    live_ -= std::exchange(sizes_[memory], 0);
    c10::GetDefaultCPUAllocator()->raw_deallocate(memory);
  }

  static inline std::map<void*, std::size_t> sizes_;
  static inline std::size_t live_ = 0;
  static inline std::size_t peak_ = 0;
};

/// Counts LibTorch's allocations during its lifetime.
class Counting {
 public:
  Counting() {
    static CountingAllocator allocator;
    c10::SetCPUAllocator(&allocator, kPriority);
  }
  ~Counting() { c10::SetCPUAllocator(c10::GetDefaultCPUAllocator(), kPriority); }

 private:
  static constexpr uint8_t kPriority = 1;
};

TEST(MemoryLog, TellsFeaturesTemporariesAndWorkspaceApart) {
  const double one = 1024 * sizeof(float);
  ops::MemoryLog log(at::kCPU);
  const at::Tensor weight = at::ones({1024}).requires_grad_();
  log.mark(weight, MemoryClass::kWeights);
  const ops::MemoryUse use = log.record([&] {
    const at::Tensor kept = at::relu(weight);  // the backward pass needs this result
    kept.add(1).sum().backward();              // no backward pass needs the first result
  });
  EXPECT_EQ(of(use.max, MemoryClass::kWeights), one);
  EXPECT_EQ(of(use.max, MemoryClass::kFeatures), one);
  EXPECT_GE(of(use.max, MemoryClass::kTemporaries), one);
  EXPECT_EQ(of(use.max, MemoryClass::kOptimizer), 0);
}

TEST(MemoryLog, CallsWorkspaceWhatAnOpFreesBeforeItReturns) {
  const at::Tensor x = at::ones({1, 8, 32, 32});
  const at::Tensor filter = at::ones({16, 8, 3, 3});
  ops::MemoryLog log(at::kCPU);
  const double workspace =
      of(log.record([&] { at::conv2d(x, filter); }).max, MemoryClass::kWorkspace);
  EXPECT_GE(workspace, static_cast<double>(x.nbytes()));  // in oneDNN's layout
  EXPECT_EQ(of(log.record([&] { x.neg().relu(); }).max, MemoryClass::kWorkspace), 0);
}

TEST(MemoryLog, ForgetsWhatIsOlderAndSeesNothingAfterItsEnd) {
  at::Tensor older = at::ones({1024});
  ops::MemoryLog log(at::kCPU);
  const ops::MemoryUse use = log.record([&] { older.reset(); });
  EXPECT_EQ(use.peak, 0);
}

class EveryStep : public testing::TestWithParam<std::tuple<std::string, Mode>> {
 protected:
  const WorkloadRow& row() const { return workload(std::get<0>(GetParam())); }
  bool trains() const { return std::get<1>(GetParam()) == Mode::kTrain; }
  StepOptions options() const {
    return {.mode = std::get<1>(GetParam()), .batch = 4, .scale = Scale::kSmall};
  }
};

INSTANTIATE_TEST_SUITE_P(Table, EveryStep, testing::ValuesIn([] {
                           std::vector<std::tuple<std::string, Mode>> steps;
                           for (const auto& row : workloads()) {
                             for (const auto mode : modes(row)) steps.emplace_back(row.name, mode);
                           }
                           return steps;
                         }()),
                         [](const auto& step) {
                           return std::get<0>(step.param) + "_" +
                                  std::string(name(std::get<1>(step.param)));
                         });

TEST_P(EveryStep, HasThePeakThatTheAllocatorHas) {
  fixtures::set_threads(1);
  const Counting counting;
  Step(row(), options()).run();  // allocates what the process keeps
  const std::size_t before = CountingAllocator::live();
  ops::MemoryLog log(at::kCPU);
  Step step(row(), options());
  step.run();
  std::size_t peak = 0;
  const ops::MemoryUse use = log.record([&] {
    CountingAllocator::take_peak();
    step.run();
    peak = CountingAllocator::take_peak() - before;
  });
  EXPECT_NEAR(use.peak, static_cast<double>(peak), 0.01 * static_cast<double>(peak));
}

/// Bytes of the parameters with sparse gradients, the word embeddings.
double sparse_gradients(const WorkloadRow& row) {
  double bytes = 0;
  if (row.dataset != "WMT-15") return bytes;
  for (const auto& parameter : row.make(Scale::kSmall)->module().named_parameters()) {
    if (parameter.key().ends_with("_words")) bytes += static_cast<double>(parameter->nbytes());
  }
  return bytes;
}

TEST_P(EveryStep, HoldsWhatArithmeticSays) {
  fixtures::set_threads(1);
  const StepMemory memory = step_memory(row(), options());
  const ops::MemoryUse& measured = memory.measured;
  EXPECT_DOUBLE_EQ(std::accumulate(measured.at_peak.begin(), measured.at_peak.end(), 0.0),
                   measured.peak);
  const auto expected = [&](MemoryClass what) { return of(memory.predicted, what).value_or(0); };
  EXPECT_EQ(of(measured.max, MemoryClass::kWeights), expected(MemoryClass::kWeights));
  EXPECT_EQ(of(measured.max, MemoryClass::kInputs), expected(MemoryClass::kInputs));
  EXPECT_EQ(of(measured.max, MemoryClass::kOptimizer), expected(MemoryClass::kOptimizer));
  const double gradients = of(measured.max, MemoryClass::kGradients);
  const double dense = expected(MemoryClass::kGradients);
  const double sparse = trains() ? sparse_gradients(row()) : 0;
  if (sparse > 0) {  // some rows of these parameters have gradients
    EXPECT_GT(gradients, dense - sparse);
    EXPECT_LT(gradients, dense);
  } else if (trains() && row().step_macs > 0) {  // of one of two networks at a time
    EXPECT_GE(gradients, dense / 2);
    EXPECT_LT(gradients, dense);
  } else {
    EXPECT_EQ(gradients, dense);
  }
  EXPECT_EQ(of(measured.max, MemoryClass::kFeatures) > 0, trains());
}

/// A dense layer that moves its weights in the first step, as cuDNN's recurrent layers do.
std::unique_ptr<Workload> make_moving(Scale) {
  namespace nn = torch::nn;
  constexpr fixtures::ImageShape kImage{.side = 8, .classes = 4};
  const nn::Linear dense(3 * kImage.side * kImage.side, kImage.classes);
  const auto move_once = [dense, moved = false](const at::Tensor& x) mutable {
    if (!std::exchange(moved, true)) {
      for (auto& parameter : dense->parameters()) parameter.set_data(parameter.clone());
    }
    return x;
  };
  const nn::Sequential net(nn::Functional(move_once), nn::Flatten(), dense);
  return make_image_workload(kImage, net, sgd(0.1));
}

TEST(StepMemory, CountsWeightsThatTheFirstStepMoved) {
  WorkloadRow row = workload("autoenc");
  row.make = make_moving;
  const StepMemory memory = step_memory(row, {.batch = 4});
  EXPECT_GT(of(memory.predicted, MemoryClass::kWeights), 0);
  EXPECT_EQ(of(memory.measured.max, MemoryClass::kWeights),
            of(memory.predicted, MemoryClass::kWeights));
}

TEST(StepMemoryOnCuda, CountsTheWeightsOfRecurrentLayers) {
  if (const auto& why = fixtures::unavailable_reason(fixtures::Device::kCuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  for (const char* const name : {"seq2seq", "deepspeech2"}) {
    const StepMemory memory = step_memory(
        workload(name), {.device = fixtures::Device::kCuda, .batch = 4, .scale = Scale::kSmall});
    EXPECT_GE(of(memory.measured.max, MemoryClass::kWeights),
              of(memory.predicted, MemoryClass::kWeights))
        << name;
  }
}

TEST(StepMemoryOnCuda, IsMeasuredAndLaterStepsTrain) {
  if (const auto& why = fixtures::unavailable_reason(fixtures::Device::kCuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const StepOptions options{.device = fixtures::Device::kCuda, .batch = 4, .scale = Scale::kSmall};
  const ops::MemoryUse measured = step_memory(workload("memnet"), options).measured;
  EXPECT_GT(of(measured.max, MemoryClass::kGradients), 0);
  EXPECT_GT(of(measured.max, MemoryClass::kFeatures), 0);
  Step step(workload("memnet"), options);
  step.run();
  EXPECT_TRUE(std::isfinite(step.result().item<double>()));
}

}  // namespace
}  // namespace fathom::models
