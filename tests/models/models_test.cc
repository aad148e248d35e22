#include <ATen/Version.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/isfinite.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fixtures/machine/device.h"
#include "models/modern/parallel_fill.h"
#include "models/parameter_count.h"
#include "models/recorded.h"
#include "models/step.h"
#include "models/table.h"
#include "ops/profiler/flops.h"
#include "ops/profiler/record.h"
#include "ops/types/shapes.h"
#include "tests/models/zero_products.h"

namespace fathom::models {
namespace {

/// Tests of every workload in the table, at the small size where possible.
class EveryWorkload : public testing::TestWithParam<std::string> {
 protected:
  const WorkloadRow& row() const { return workload(GetParam()); }

  Step small(Mode mode, uint64_t seed = 0,
             fixtures::Precision precision = fixtures::Precision::kFp32) const {
    fixtures::set_threads(1);
    return {
        row(),
        {.mode = mode, .precision = precision, .batch = 4, .seed = seed, .scale = Scale::kSmall}};
  }

  /// False if LibTorch's LSTM does not support the step's 16 bits on this CPU: bf16 needs AVX-512,
  /// and its oneDNN has no LSTM for training in fp16.
  static bool runs_in_half(Step& step) {
    try {
      step.run();
    } catch (const std::exception& error) {
      const bool lstm = std::string_view(error.what()).find("LSTM") != std::string_view::npos;
      const bool in_fp16 = step.options().precision == fixtures::Precision::kFp16;
      if (!lstm || (!in_fp16 && at::get_cpu_capability() != "AVX2")) throw;
      return false;
    }
    return true;
  }

  static double number(const Step& step) { return step.result().item<double>(); }
};

/// Tests of every workload that trains.
class EveryTraining : public EveryWorkload {};

std::vector<std::string> names_of(bool (*chosen)(const WorkloadRow&)) {
  std::vector<std::string> names;
  for (const auto& row : workloads()) {
    if (chosen(row)) names.emplace_back(row.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Table, EveryWorkload,
                         testing::ValuesIn(names_of([](const WorkloadRow&) { return true; })),
                         [](const auto& workload) { return workload.param; });
INSTANTIATE_TEST_SUITE_P(Table, EveryTraining,
                         testing::ValuesIn(names_of([](const WorkloadRow& row) {
                           return row.trains;
                         })),
                         [](const auto& workload) { return workload.param; });

/// Leaves the weights of large networks as they are in memory, for tests that count what runs.
class UnfilledWeights {
 public:
  UnfilledWeights() { fills_weights() = false; }
  ~UnfilledWeights() { fills_weights() = true; }
  UnfilledWeights(const UnfilledWeights&) = delete;
  UnfilledWeights& operator=(const UnfilledWeights&) = delete;
};

/// Sum of the FLOPs of the recorded products and convolutions, with their calls.
double flops_of_rows(const std::vector<ops::RecordedOp>& rows) {
  double sum = 0;
  for (const auto& [type, layer, op, count] : rows) {
    if (type->op_class != ops::OpClass::kMatrix && type->op_class != ops::OpClass::kConvolution)
      continue;
    ops::FieldLoader fields(op.fields);
    const ops::Cost cost = type->make(fields, op.pass)->cost(fixtures::Precision::kFp32);
    sum += cost.flops * static_cast<double>(count);
  }
  return sum;
}

/// Multiply-adds of one sample in the forward passes of all updates of a step.
int64_t published_macs(const WorkloadRow& row, Mode mode) {
  if (mode == Mode::kTrain && row.step_macs > 0) return row.step_macs;
  const int64_t macs = mode == Mode::kInfer && row.infer_macs > 0 ? row.infer_macs : row.macs;
  return macs - row.other_macs;
}

/// Multiply-adds of the forward passes of a step, by its recorded rows. Batched products are rows
/// of the forward pass in a gradient, too: steps with such ones are run.
double forward_macs(const WorkloadRow& row, Mode mode, int64_t batch) {
  double sum = 0;
  for (const auto& one : ops::parse_shapes(ops::embedded_text(row.name), "recorded")) {
    const auto of = one.type->op_class;
    if (of != ops::OpClass::kMatrix && of != ops::OpClass::kConvolution) continue;
    if (one.pass != ops::Pass::kForward) continue;
    if (mode == Mode::kTrain && one.type->name == "batched_matmul") {
      Step step(row, {.batch = batch});
      return ops::count_flops([&] { step.run(); }).macs;
    }
    const int64_t calls = mode == Mode::kInfer ? one.infer_count : one.count;
    sum += one.op->cost(fixtures::Precision::kFp32).macs * static_cast<double>(calls);
  }
  return sum;
}

TEST_P(EveryWorkload, HasThePublishedParametersAndMacs) {
  const UnfilledWeights unfilled;
  EXPECT_EQ(parameter_count(row().make(Scale::kFull)->module()), row().parameters);
  for (const auto mode : modes(row())) {
    if (mode == Mode::kGenerate) continue;  // its ops are those of a prompt and of decoding
    const bool other_batch = mode == Mode::kInfer && row().infer_batch > 0;
    const int64_t batch = other_batch ? row().infer_batch : row().batch;
    EXPECT_EQ(forward_macs(row(), mode, batch),
              static_cast<double>(batch * published_macs(row(), mode)))
        << name(mode);
  }
}

TEST_P(EveryWorkload, HasTheFlopsOfItsRows) {
  for (const auto mode : modes(row())) {
    SCOPED_TRACE(name(mode));
    Step step = small(mode);
    std::vector<ops::RecordedOp> rows;
    const auto run = [&] { rows = ops::record([&] { step.run(); }, {}); };
    const ops::StepFlops found = ops::count_flops(run);
    const double flops = flops_of_rows(rows);
    EXPECT_GT(flops, found.macs);
    EXPECT_GT(found.macs, 0);
    EXPECT_NEAR(found.flops, flops, 1e-12 * flops);
    EXPECT_EQ(found.uncounted, std::set<std::string>());
  }
}

TEST_P(EveryTraining, HasTheMacsOfItsFirstUpdate) {
  constexpr int64_t kBatch = 2;
  const bool several = row().make(Scale::kSmall)->updates_per_step() > 1;
  ASSERT_EQ(several, row().step_macs > 0);
  if (!several) return;
  Step step(row(), {.batch = kBatch});
  EXPECT_EQ(ops::count_flops([&] { step.forward(); }).macs,
            static_cast<double>(kBatch * (row().macs - row().other_macs)));
}

TEST_P(EveryWorkload, HasTheFlopsOfTheCpuOnCuda) {
  const std::string& absent = fixtures::unavailable_reason(fixtures::Device::kCuda);
  if (!absent.empty()) GTEST_SKIP() << absent;
  const auto flops = [&](Mode mode, fixtures::Device device) {
    Step step(row(), {.mode = mode, .device = device, .batch = 4, .scale = Scale::kSmall});
    return ops::count_flops([&] { step.run(); }).flops;
  };
  for (const auto mode : modes(row())) {
    EXPECT_EQ(flops(mode, fixtures::Device::kCuda), flops(mode, fixtures::Device::kCpu))
        << name(mode);
  }
}

TEST_P(EveryWorkload, InfersTheShapeThatItPromises) {
  Step step = small(Mode::kInfer);
  step.run();
  EXPECT_EQ(step.result().sizes(), c10::IntArrayRef(step.result_shape()));
  EXPECT_TRUE(at::isfinite(step.result()).all().item<bool>());
  EXPECT_EQ(step.workload().infer_bytes().has_value(), row().counts_bytes);
}

/// The results of an inference that rounding changes little: nmt's logits of the first position.
/// The later ones read words that rounding may change.
at::Tensor stable(const WorkloadRow& row, const at::Tensor& inferred) {
  return row.name == "nmt" ? inferred[0] : inferred;
}

TEST_P(EveryWorkload, InfersInHalfPrecisionCloseToFp32) {
  Step exact = small(Mode::kInfer);  // also seeds random numbers of the inference
  exact.run();
  const at::Tensor expected = stable(row(), exact.result());
  for (const auto& [precision, share] :
       {std::pair{fixtures::Precision::kBf16, 0.05}, std::pair{fixtures::Precision::kFp16, 0.01}}) {
    Step rounded = small(Mode::kInfer, 0, precision);
    if (!runs_in_half(rounded)) GTEST_SKIP() << "LibTorch's LSTM has no fp16 or bf16 on this CPU";
    const at::Tensor difference = stable(row(), rounded.result()).to(at::kFloat).sub(expected);
    EXPECT_LT(difference.norm().item<double>(), share * expected.norm().item<double>())
        << name(precision);
    EXPECT_GT(difference.norm().item<double>(), 0) << name(precision);
  }
}

TEST_P(EveryTraining, TrainsInHalfPrecision) {
  for (const auto precision : {fixtures::Precision::kBf16, fixtures::Precision::kFp16}) {
    Step step = small(Mode::kTrain, 0, precision);
    if (!runs_in_half(step)) GTEST_SKIP() << "LibTorch's LSTM has no fp16 or bf16 on this CPU";
    EXPECT_TRUE(std::isfinite(number(step))) << name(precision);
  }
}

/// The networks stay in training mode: cuDNN's LSTM has a backward pass only in this mode.
void disable_dropout(Step& step) {
  for (const auto& module : step.workload().module().modules()) {
    if (auto* dropout = module->as<torch::nn::Dropout>()) dropout->eval();
  }
}

TEST_P(EveryTraining, HasTheCpusLossAndGradientsOnCuda) {
  if (const auto& why = fixtures::unavailable_reason(fixtures::Device::kCuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  if (row().dataset == "MNIST") GTEST_SKIP() << "its noise is drawn on the device";
  std::vector<Step> steps;
  for (const auto device : {fixtures::Device::kCpu, fixtures::Device::kCuda}) {
    auto& step = steps.emplace_back(
        row(), StepOptions{.device = device, .batch = 4, .scale = Scale::kSmall});
    disable_dropout(step);
    at::manual_seed(7);
    step.forward();
    step.backward();
  }
  EXPECT_NEAR(number(steps[1]), number(steps[0]), 1e-3 * std::abs(number(steps[0])));
  const auto expected = steps[0].workload().module().named_parameters();
  for (const auto& parameter : steps[1].workload().module().named_parameters()) {
    if (!parameter->requires_grad()) continue;
    const at::Tensor exact = expected[parameter.key()].grad().to_dense();
    const at::Tensor found = parameter->grad().to_dense().cpu();
    // Before a normalization, the gradient of a bias is 0 but for rounding errors.
    EXPECT_LE((found - exact).norm().item<double>(), 1e-2 * exact.norm().item<double>() + 1e-5)
        << parameter.key();
  }
}

TEST_P(EveryWorkload, TrainsAndInfersInEveryPrecisionOnCuda) {
  if (const auto& why = fixtures::unavailable_reason(fixtures::Device::kCuda); !why.empty()) {
    GTEST_SKIP() << why;
  }
  if (row().dataset == "MNIST") GTEST_SKIP() << "its noise is drawn on the device";
  using fixtures::Precision;
  for (const auto mode : modes(row())) {
    const auto first_result = [&](fixtures::Device device, Precision precision) {
      Step step(row(), {.mode = mode,
                        .device = device,
                        .precision = precision,
                        .batch = 4,
                        .scale = Scale::kSmall});
      disable_dropout(step);
      at::manual_seed(7);
      step.run();  // with backward pass and update
      const at::Tensor all = step.result().detach().to(at::kCPU, at::kDouble);
      const at::Tensor result = mode == Mode::kInfer ? stable(row(), all) : all;
      step.run();
      EXPECT_TRUE(at::isfinite(step.result()).all().item<bool>());
      return result;
    };
    const at::Tensor exact = first_result(fixtures::Device::kCpu, Precision::kFp32);
    // Errors grow over resnet50's layers, and wgan's loss is a small difference of large numbers.
    for (const auto& [precision, tolerance] :
         {std::pair{Precision::kFp32, 1e-3}, std::pair{Precision::kTf32, 5e-2},
          std::pair{Precision::kBf16, 1e-1}}) {
      const at::Tensor found = first_result(fixtures::Device::kCuda, precision);
      EXPECT_LE((found - exact).norm().item<double>(),
                tolerance * exact.norm().item<double>() + 1e-5)
          << name(mode) << ' ' << name(precision);
    }
  }
}

TEST_P(EveryTraining, GivesTheSameLossesForTheSameSeed) {
  Step first = small(Mode::kTrain, 5);
  std::vector<double> losses;
  for (int i = 0; i < 3; ++i) {
    first.run();
    losses.push_back(number(first));
  }
  Step second = small(Mode::kTrain, 5);
  for (const double loss : losses) {
    second.run();
    EXPECT_EQ(number(second), loss);
  }
}

TEST_P(EveryTraining, GivesAnotherLossForAnotherSeed) {
  Step first = small(Mode::kTrain, 5);
  Step second = small(Mode::kTrain, 6);
  first.run();
  second.run();
  EXPECT_NE(number(first), number(second));
}

TEST_P(EveryTraining, LearnsOneBatch) {
  Step step = small(Mode::kTrain);
  auto& workload = step.workload();
  if (workload.updates_per_step() > 1) return;  // the losses of several networks
  if (row().name == "a3c") return;  // without rewards nothing is learnt: a3c_test.cc has some
  const auto batch = workload.batches({.batch = 4, .seed = 1}).batches[0];
  // A step of Adam may leave a minimum, so medians are compared.
  const auto median_loss = [&](std::size_t steps) {
    std::vector<double> losses(steps);
    for (auto& value : losses) {
      const at::Tensor loss = workload.loss(batch);
      value = loss.item<double>();
      loss.backward();
      workload.update();
    }
    std::sort(losses.begin(), losses.end());
    return losses[steps / 2];
  };
  const double before = median_loss(5);
  median_loss(40);
  EXPECT_LT(median_loss(25), before);
}

TEST_P(EveryTraining, StaysFiniteOverManySteps) {
  Step step = small(Mode::kTrain);
  for (int i = 0; i < 300; ++i) step.run();
  EXPECT_TRUE(std::isfinite(number(step)));
}

TEST_P(EveryTraining, HasGradientsAfterBackwardOnly) {
  Step step = small(Mode::kTrain);
  step.forward();
  auto parameters = step.workload().module().parameters();
  std::erase_if(parameters, [](const auto& parameter) { return !parameter.requires_grad(); });
  for (const auto& parameter : parameters) EXPECT_FALSE(parameter.grad().defined());
  step.backward();
  for (const auto& parameter : parameters) {
    at::Tensor gradient = parameter.grad();
    ASSERT_TRUE(gradient.defined());
    if (gradient.is_sparse()) gradient = gradient.coalesce().values();
    EXPECT_TRUE(at::isfinite(gradient).all().item<bool>());
  }
  step.update();
  for (const auto& parameter : parameters) EXPECT_FALSE(parameter.grad().defined());
}

TEST_P(EveryWorkload, CyclesThroughDifferentBatches) {
  Step step = small(Mode::kInfer);
  step.run();
  const at::Tensor first = step.result().clone();
  step.run();
  EXPECT_FALSE(at::equal(step.result(), first));
}

/// The recorded shapes of a workload with other sizes: regular expressions and what replaces them.
std::string resized(std::string_view name,
                    const std::vector<std::pair<const char*, const char*>>& sizes) {
  std::string text(ops::embedded_text(name));
  for (const auto& [few, many] : sizes) text = std::regex_replace(text, std::regex(few), many);
  return text;
}

/// The shapes of speech_150 with the frames and labels of speech, the same network.
std::string shapes_of_speech() {
  return resized("speech_150", {{"speech_150", "speech"},
                                {"\\b150\\b", "1566"},
                                {"\\b4800\\b", "50112"},  // of 32 utterances
                                {"\"labels\": 7\\b", "\"labels\": 75"}});
}

/// The shapes of gpt2 with sequences of 1,024 tokens instead of 256, the same network.
std::string shapes_of_long_sequences() {
  return resized("gpt2", {{"\"gpt2\"", "\"gpt2_1024\""},
                          // tokens of 4 sequences
                          {"\"(m|k|n|ids)\": 1024\\b", "\"$1\": 4096"},
                          {"\"sizes\": \\[1024\\b", "\"sizes\": [4096"},
                          {"\\b256\\b", "1024"}});
}

/// The shapes that `row` must have. Steps of minutes are not run: those of shorter inputs are
/// recorded instead.
std::string expected_shapes(const WorkloadRow& row) {
  if (row.name == "speech") return shapes_of_speech();
  if (row.name == "gpt2_1024") return shapes_of_long_sequences();
  return record_shapes_json(row);
}

TEST_P(EveryWorkload, RunsTheRecordedOps) {
  if (TORCH_VERSION_MINOR >= 14 && row().name == "wgan")
    GTEST_SKIP() << "this LibTorch has another second gradient of group_norm";
  fixtures::set_threads(1);
  const UnfilledWeights unfilled;
  std::optional<ZeroProducts> zeros;
  if (row().name != "faster_rcnn") zeros.emplace();  // its scores decide how many boxes are left
  EXPECT_EQ(expected_shapes(row()), ops::embedded_text(row().name))
      << "record them again: ./fathom_bench --fathom_record=ops/shapes --benchmark_filter=^"
      << row().name << "/";
}

/// The ops that dominate a step, with their calls per training step, without types `other`. Others
/// may differ: only a GPU has a gradient of dropout and copies from the host.
std::map<std::string, int64_t> main_ops(std::string_view shapes,
                                        const std::set<std::string_view>& other) {
  std::map<std::string, int64_t> counts;
  for (const auto& row : ops::parse_shapes(shapes, "recorded")) {
    const auto of = row.type->op_class;
    if (other.contains(row.type->name)) continue;
    if (of == ops::OpClass::kMatrix || of == ops::OpClass::kConvolution ||
        of == ops::OpClass::kReduction || of == ops::OpClass::kOptimization) {
      counts[row.key()] += row.count;
    }
  }
  return counts;
}

TEST_P(EveryWorkload, RunsTheRecordedOpsOnCuda) {
  const std::string& absent = fixtures::unavailable_reason(fixtures::Device::kCuda);
  if (!absent.empty()) GTEST_SKIP() << absent;
  std::set<std::string_view> other;
  if (row().name == "transformer") {  // a CPU composes attention with dropout
    other = {"batched_matmul", "scaled_dot_product_attention", "softmax"};
  } else if (row().name == "nmt" || row().name.starts_with("seq2seq")) {
    // On a GPU, the LSTM cell includes the sum for its bias's gradient, and nmt's attention calls
    // sum for its query's.
    other = {"sum"};
  }
  EXPECT_EQ(main_ops(record_shapes_json(row(), fixtures::Device::kCuda), other),
            main_ops(ops::embedded_text(row().name), other));
}

TEST(Table, HasNoWorkloadOfAnUnknownName) { EXPECT_THROW(workload("vgg20"), std::out_of_range); }

}  // namespace
}  // namespace fathom::models
