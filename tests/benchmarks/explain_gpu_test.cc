// --fathom_explain on a GPU, with pretended times.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "benchmarks/explain/explain_findings.h"
#include "benchmarks/explain/explain_json.h"
#include "benchmarks/explain/explain_text.h"
#include "benchmarks/rows/presets.h"
#include "benchmarks/rows/record_shapes.h"
#include "tests/benchmarks/parsed_options.h"

namespace fathom::benchmarks {
namespace {

using fixtures::Device;
using ops::OpClass;

/// Two profiled steps of 1000 us, of which a convolution and a kernel that no op launched keep the
/// GPU busy for 600 us.
class ExplainGpu : public testing::Test {
 protected:
  Explanation explained() const { return explain(setting, step_us, ops, &profiled); }

  Setting setting{.step = {.workload = "net", .mode = models::Mode::kTrain},
                  .device = Device::kCuda,
                  .threads = 1,
                  .precision = fixtures::Precision::kFp32};
  std::optional<double> step_us = 1000;
  std::vector<ExplainedOp> ops{{.type = "conv2d",
                                .layer = "conv1",
                                .pass = ops::Pass::kForward,
                                .count = 1,
                                .key = "conv",
                                .in_steps = "torch",
                                .hot_us = {{"torch", 500}, {"cudnn", 490}}}};
  ops::ShapeProfile profiled{
      .steps = 2,
      .seconds = 1200e-6,
      .shapes = {
          {.type = "conv2d",
           .op_class = OpClass::kConvolution,
           .keys = {"conv"},
           .count = 2,
           .seconds = 1000e-6},
          {.type = "framework", .op_class = OpClass::kFramework, .keys = {}, .seconds = 200e-6}}};
};

TEST_F(ExplainGpu, GivesTheHostTheTimeInWhichTheGpuIsIdle) {
  const Explanation found = explained();
  EXPECT_DOUBLE_EQ(found.host_us().value(), 400);
  EXPECT_EQ(host_sentence(found),
            "The GPU is busy for 0.600 ms of the step's 1.00 ms and idle for 0.400 ms, 40.0 % of "
            "the step, in which it waits for the host");
  EXPECT_NE(explanation_text(found).find("\n" + host_sentence(found) + ".\n"), std::string::npos);
  const auto json = nlohmann::json::parse(explanations_json({found}))["explanations"][0];
  EXPECT_DOUBLE_EQ(json["host_us"], 400);
  EXPECT_DOUBLE_EQ(json["profiled_step_us"], 600);
}

TEST_F(ExplainGpu, FindsTheHostAndNotTheTimeBetweenOps) {
  const auto found = findings(explained());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, "host");
  EXPECT_DOUBLE_EQ(found[0].saving_us, 400);
  EXPECT_NE(found[0].words.find("CUDA graph"), std::string::npos);
  Explanation disturbed = explained();
  disturbed.step_taken_us = 50;
  EXPECT_DOUBLE_EQ(findings(disturbed)[0].saving_us, 300) << "without what others took";
}

/// An op of many short kernels, run separately, takes the time of its launches.
TEST_F(ExplainGpu, LetsAnOpTakeLongerThanTheGpu) {
  ops[0].hot_us = {{"torch", 5000}, {"cudnn", 2000}};
  EXPECT_FALSE(explained().lines[0].contradicts());
  EXPECT_TRUE(warnings(explained()).empty());
  for (const auto& one : findings(explained())) EXPECT_NE(one.kind, "kernel") << one.words;
}

TEST_F(ExplainGpu, NamesNoHostOnTheCpuOrWithoutTheStep) {
  setting.device = Device::kCpu;
  EXPECT_EQ(explained().host_us(), std::nullopt);
  EXPECT_EQ(host_sentence(explained()), "");
  setting.device = Device::kCuda;
  step_us.reset();
  EXPECT_EQ(host_sentence(explained()), "");
}

/// A host that launches too slowly makes the step longer than the GPU's work, however much: that
/// is no contradiction.
TEST_F(ExplainGpu, ContradictsItselfOnlyWhereTheGpuIsBusyForLongerThanTheStep) {
  step_us = 100'000;
  EXPECT_FALSE(explained().contradicts());
  step_us = 500;
  EXPECT_FALSE(explained().contradicts()) << "less than 1.25 times";
  EXPECT_EQ(explained().host_us(), 0);
  step_us = 400;
  EXPECT_TRUE(explained().contradicts());
  EXPECT_TRUE(findings(explained()).empty());
  EXPECT_NE(warnings(explained()).at(0).find("GPU's time in the profiled step (0.600 ms)"),
            std::string::npos);
}

/// A step on backend:tuned replays a CUDA graph, which calls no ops.
TEST(ExplainGpuRows, ProfileTheShapesOfTheStep) {
  Options options = parsed(
      {"--fathom_explain=memnet/train", "--fathom_device=cpu", "--fathom_backend=torch,tuned"});
  options.axes.devices = {Device::kCuda};
  const auto rows = filtered(make_rows(options), "^memnet/");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].name.find("memnet/train/device:cuda/threads:1/"), 0U);
  EXPECT_EQ(rows[0].backend, "torch");
  EXPECT_EQ(rows[0].profiling, Profiling::kOpShapes);
}

TEST(RecordingDevice, IsTheCpuUnlessTheRowsLeaveItOut) {
  const auto row = [](Device device, const char* workload) {
    return Row{.device = device, .step = StepName{workload, models::Mode::kTrain}};
  };
  const std::vector<Row> rows{row(Device::kCuda, "vgg"), row(Device::kCpu, "vgg"),
                              row(Device::kCuda, "deepq"), Row{.name = "fixture/copy"}};
  EXPECT_EQ(recording_device(rows, "vgg"), Device::kCpu);
  EXPECT_EQ(recording_device(rows, "deepq"), Device::kCuda);
  EXPECT_EQ(recording_device(rows, "memnet"), std::nullopt);
}

}  // namespace
}  // namespace fathom::benchmarks
