#include "benchmarks/explain/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "benchmarks/explain/explain_findings.h"
#include "benchmarks/explain/explain_json.h"
#include "benchmarks/explain/explain_text.h"
#include "benchmarks/machine/peaks.h"
#include "benchmarks/rows/presets.h"
#include "tests/benchmarks/parsed_options.h"

namespace fathom::benchmarks {
namespace {

using ops::OpClass;
using ops::Pass;

constexpr auto kTorch = "torch";
constexpr auto kOneDnn = "onednn";

/// Times of one call; the key is "<type>/<layer>/<pass>".
ExplainedOp op(const std::string& type, const std::string& layer, Pass pass, int64_t count,
               std::map<std::string, double> hot_us, std::map<std::string, double> cold_us = {}) {
  return {.type = type,
          .layer = layer,
          .pass = pass,
          .count = count,
          .key = type + '/' + layer + '/' + std::string(ops::name(pass)),
          .in_steps = kTorch,
          .hot_us = std::move(hot_us),
          .cold_us = std::move(cold_us)};
}

/// Two profiled steps of a small network that was timed at 1000 us: a convolution with both
/// gradients in one call, a relu that waits for memory, and an op without rows.
class Explain : public testing::Test {
 protected:
  Explain() {
    call("conv2d", OpClass::kConvolution, {"conv2d/conv1/forward"}, 200e-6);
    call("conv2d", OpClass::kConvolution, {"conv2d/conv1/dgrad", "conv2d/conv1/wgrad"}, 400e-6);
    call("relu", OpClass::kElementwise, {"relu/conv1/forward"}, 100e-6);
    call("pad", OpClass::kMovement, {"pad/of/another/step"}, 30e-6);
    call("pad", OpClass::kMovement, {}, 10e-6);
    call("view", OpClass::kFramework, {}, 50e-6);
    call("framework", OpClass::kFramework, {}, 250e-6);
  }

  /// Adds a call of `seconds` to each step.
  void call(const char* type, OpClass op_class, std::vector<std::string> keys, double seconds) {
    profiled.seconds += 2 * seconds;
    profiled.shapes.push_back({.type = type,
                               .op_class = op_class,
                               .keys = std::move(keys),
                               .count = 2,
                               .seconds = 2 * seconds});
  }

  Explanation explained() const { return explain(setting, step_us, ops, &profiled); }

  Setting setting{.step = {.workload = "net", .mode = models::Mode::kTrain},
                  .device = fixtures::Device::kCpu,
                  .threads = 1,
                  .precision = fixtures::Precision::kFp32};
  std::optional<double> step_us = 1000;
  std::vector<ExplainedOp> ops{
      op("relu", "conv1", Pass::kForward, 4, {{kTorch, 10}, {kOneDnn, 12}},
         {{kTorch, 24}, {kOneDnn, 22}}),
      op("conv2d", "conv1", Pass::kForward, 1, {{kTorch, 190}, {kOneDnn, 180}},
         {{kTorch, 200}, {kOneDnn, 210}}),
      op("conv2d", "conv1", Pass::kDgrad, 1, {{kTorch, 150}, {kOneDnn, 140}}, {{kTorch, 160}}),
      op("conv2d", "conv1", Pass::kWgrad, 1, {{kTorch, 240}, {kOneDnn, 120}},
         {{kTorch, 250}, {kOneDnn, 130}})};
  ops::ShapeProfile profiled{.steps = 2, .seconds = 0, .shapes = {}};
};

TEST_F(Explain, SumsTheStep) {
  const Explanation found = explained();
  EXPECT_DOUBLE_EQ(*found.in_step(), 700);
  EXPECT_DOUBLE_EQ(*found.hot(), 40 + 190 + 150 + 240);
  EXPECT_DOUBLE_EQ(*found.cold(), 96 + 200 + 160 + 250);
  EXPECT_DOUBLE_EQ(*found.best(), 40 + 180 + 140 + 120);
  EXPECT_DOUBLE_EQ(*found.best_cold(), 88 + 200 + 160 + 130);
  EXPECT_DOUBLE_EQ(found.profiled->between_us(), 300);
  EXPECT_DOUBLE_EQ(found.profiled->without_rows_us(), 40) << "a shape without a row, and its type";
  EXPECT_DOUBLE_EQ(
      *found.in_step() + found.profiled->between_us() + found.profiled->without_rows_us(),
      found.profiled->step_us);
}

TEST_F(Explain, PutsOpsOfOneCallOnOneLineTheLongestFirst) {
  const Explanation found = explained();
  ASSERT_EQ(found.lines.size(), 3U);
  const ExplainedLine& gradients = found.lines[0];
  EXPECT_EQ(line_passes(gradients), "dgrad+wgrad");
  EXPECT_DOUBLE_EQ(*gradients.in_step_us, 400);
  EXPECT_DOUBLE_EQ(*gradients.hot(), 390);
  EXPECT_DOUBLE_EQ(*gradients.other_us(), 260);
  EXPECT_NEAR(*gradients.tax(), 100 * (400.0 / 260 - 1), 1e-9);
  EXPECT_EQ(line_type(found.lines[2]), "relu");
  EXPECT_NEAR(*found.lines[2].tax(), 150, 1e-9) << "LibTorch's is the fastest";
}

TEST_F(Explain, WeighsSharesOfThePeakByTime) {
  ops[2].peak = PeakShare{.of = "flops", .percent = 80};
  ops[3].peak = PeakShare{.of = "flops", .percent = 50};
  EXPECT_NEAR(explained().lines[0].peak()->percent, (150 * 80 + 240 * 50) / 390.0, 1e-9);
  ops[3].peak = PeakShare{.of = "bytes", .percent = 50};
  EXPECT_FALSE(explained().lines[0].peak());
}

TEST_F(Explain, RanksFindingsByTheirSaving) {
  const auto found = findings(explained());
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].kind, "between_ops");
  EXPECT_DOUBLE_EQ(found[0].saving_us, 300 - (1040 - 1000)) << "less what profiling added";
  EXPECT_EQ(found[1].kind, "kernel");
  EXPECT_DOUBLE_EQ(found[1].saving_us, 120);
  EXPECT_EQ(found[1].words,
            "LibTorch's conv2d wgrad takes 2.00 times oneDNN's: 0.240 ms against 0.120 ms, run "
            "separately, over one shape");
  EXPECT_EQ(found[2].kind, "memory");
  EXPECT_DOUBLE_EQ(found[2].saving_us, 100 - 40);
  EXPECT_NE(found[2].words.find("relu forward waits for memory"), std::string::npos);
  EXPECT_NE(found[2].words.find("Fusing"), std::string::npos);
}

TEST_F(Explain, SavesNoMoreThanTheStepSpends) {
  profiled.shapes[1].seconds -= 2 * 100e-6;  // the two gradients: 300 us, of which 260 stay
  double saved = 0;
  std::string words;
  for (const auto& one : findings(explained(), 9)) {
    if (one.kind != "kernel" || one.words.find("grad") == std::string::npos) continue;
    saved += one.saving_us;
    words += one.words;
  }
  EXPECT_NEAR(saved, 40, 1e-9) << "each has a faster kernel; together they would save 130 us";
  EXPECT_NE(words.find("which bounds the saving"), std::string::npos);
}

TEST_F(Explain, BoundsNoSavingByAProfileThatContradictsTheStep) {
  profiled.shapes[1].seconds -= 2 * 100e-6;
  step_us = 5000;
  double saved = 0;
  for (const auto& one : findings(explained(), 9)) {
    if (one.words.find("grad") != std::string::npos) saved += one.saving_us;
  }
  EXPECT_NEAR(saved, 130, 1e-9);
}

TEST_F(Explain, ReportsLinesThatTakeLongerInTheStep) {
  step_us = 1500;
  call("relu", OpClass::kElementwise, {"relu/conv1/forward"}, 500e-6);
  const auto found = findings(explained());
  EXPECT_EQ(found[0].kind, "in_step");
  EXPECT_DOUBLE_EQ(found[0].saving_us, 600 - 96);
  EXPECT_NE(found[0].words.find("--fathom_malloc=tuned"), std::string::npos);
  EXPECT_EQ(found[0].words.find("threads"), std::string::npos) << "there is only one";
}

TEST_F(Explain, TakesTheKernelThatTheStepRunsForItsOwn) {
  ops[0].in_steps = "native";
  ops[0].hot_us = {{"native", 10}, {kTorch, 100}};
  const Explanation found = explained();
  EXPECT_DOUBLE_EQ(*found.lines[2].hot(), 40);
  EXPECT_DOUBLE_EQ(*found.lines[2].other_us(), 400);
  for (const auto& one : findings(found, 9))
    EXPECT_EQ(one.words.find("fathom_bench's own"), std::string::npos);
}

TEST_F(Explain, LeavesOutUnknownTimes) {
  ops[0].hot_us.clear();
  ops[0].cold_us.clear();
  const Explanation found = explained();
  EXPECT_FALSE(found.hot());
  EXPECT_FALSE(found.best());
  EXPECT_FALSE(found.best_cold());
  EXPECT_DOUBLE_EQ(*found.in_step(), 700) << "the step ran it all the same";
  EXPECT_FALSE(found.lines[2].tax());
  const auto json = nlohmann::json::parse(explanations_json({found}));
  EXPECT_FALSE(json["explanations"][0].contains("hot_us"));
  EXPECT_FALSE(json["explanations"][0]["lines"][2].contains("step_hot_us"));
  EXPECT_NE(explanation_text(found).find("  -"), std::string::npos);
}

TEST_F(Explain, SumsTheHotTimeOfOpsThatAreTooSmallToRunCold) {
  ops[0].cold_us.clear();
  EXPECT_FALSE(explained().lines[2].cold());
  EXPECT_DOUBLE_EQ(*explained().cold(), 40 + 200 + 160 + 250);
  EXPECT_DOUBLE_EQ(*explained().best_cold(), 40 + 200 + 160 + 130);
}

TEST_F(Explain, SaysSoWhereThereAreFewerFindings) {
  const Explanation not_profiled = explain(setting, step_us, ops, nullptr);
  EXPECT_FALSE(not_profiled.in_step());
  ASSERT_EQ(findings(not_profiled, 9).size(), 3U) << "oneDNN's dgrad, forward and wgrad are faster";
  ops[2].hot_us.erase(kOneDnn);
  ASSERT_EQ(findings(explain(setting, step_us, ops, nullptr), 9).size(), 2U);
  EXPECT_NE(
      explanation_text(explain(setting, step_us, ops, nullptr)).find("show no further saving"),
      std::string::npos);
  const Explanation nothing = explain(setting, std::nullopt, {}, nullptr);
  EXPECT_TRUE(findings(nothing).empty());
  EXPECT_NE(explanation_text(nothing).find("These numbers show no saving"), std::string::npos);
  EXPECT_FALSE(
      nlohmann::json::parse(explanations_json({nothing}))["explanations"][0].contains("step_us"));
}

TEST_F(Explain, IsJson) {
  const auto json = nlohmann::json::parse(explanations_json({explained()}))["explanations"][0];
  EXPECT_EQ(json["step"], "net/train");
  EXPECT_EQ(json["step_us"], 1000);
  EXPECT_EQ(json["lines"][0]["ops"][1]["hot_us"]["onednn"], 120);
  EXPECT_EQ(json["lines"][0]["ops"][1]["cold_us"]["onednn"], 130);
  EXPECT_EQ(json["best_cold_us"], 88 + 200 + 160 + 130);
  EXPECT_EQ(json["unclaimed"][0]["type"], "framework");
  EXPECT_EQ(json["findings"].size(), 3U);
  EXPECT_DOUBLE_EQ(json["findings"][1]["pct_of_step"], 12);
}

/// Steps on other kernels are compared with the sums of the fastest backends: 480 us hot, 578 cold.
TEST_F(Explain, ComparesTheStepOnOtherKernelsWithTheFastestBackends) {
  Explanation found = explained();
  found.others = {{.backend = "tuned", .time = {.us = 800, .taken_us = 100}, .label = ""},
                  {.backend = "onednn", .time = {.us = 960}, .label = ""}};
  const std::string text = explanation_text(found);
  EXPECT_NE(text.find("\ntuned                      0.800       80.0  0.100         60.0"
                      "          72.2\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nonednn                     0.960       96.0      -         50.0"
                      "          60.2\n"),
            std::string::npos)
      << text;
  ASSERT_EQ(warnings(found).size(), 1U);
  EXPECT_NE(warnings(found)[0].find("0.100 ms of a tuned step."), std::string::npos);
  const auto json = nlohmann::json::parse(explanations_json({found}))["explanations"][0]["others"];
  EXPECT_EQ(json[0]["step_taken_us"], 100);
  EXPECT_FALSE(json[1].contains("step_taken_us"));
}

TEST_F(Explain, AlignsItsColumns) {
  const std::string text = explanation_text(explained());
  EXPECT_NE(text.find("\nconv2d/conv1/dgrad+wgrad      1    0.400  0.390  0.410  onednn 0.260"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nstep (timed median) "), std::string::npos);
  for (const char letter : text) EXPECT_TRUE(letter == '\n' || (letter >= ' ' && letter <= '~'));
}

TEST_F(Explain, NamesTheOpsWithoutRows) {
  const std::string text = explanation_text(explained());
  EXPECT_NE(text.find("\nWithout rows, of the profiled step: pad 3.8 %.\n"), std::string::npos)
      << text;
}

TEST_F(Explain, CountsOutTheTimeThatOthersTook) {
  ops[3].hot_taken_us = 30;
  Explanation found = explained();
  found.profiled->taken_us = 40;
  const auto all = findings(found, 9);
  ASSERT_GE(all.size(), 2U);
  for (const auto& one : all) EXPECT_NE(one.kind, "memory") << "100 us of relu may be 20 us";
  EXPECT_EQ(all[0].kind, "between_ops");
  EXPECT_NEAR(all[0].saving_us, 300 - 2 * 40 - (1040 - 1000), 1e-9);
  EXPECT_EQ(all[1].kind, "kernel");
  EXPECT_NEAR(all[1].saving_us, 240 - 2 * 30 - 120, 1e-9);
  ops[3].hot_taken_us = 60;
  for (const auto& one : findings(explained(), 9)) {
    EXPECT_EQ(one.words.find("wgrad"), std::string::npos) << one.words;
  }
}

TEST_F(Explain, LeavesOutSavingsBelowAThousandthOfTheStep) {
  step_us = 20'000;
  for (const auto& one : findings(explain(setting, step_us, ops, nullptr), 9)) {
    EXPECT_GE(one.saving_us, 20) << one.words;
  }
}

TEST_F(Explain, WarnsOfDisturbedTimes) {
  EXPECT_TRUE(warnings(explained()).empty());
  ops[0].cold_taken_us = 6;  // of 24
  Explanation found = explained();
  found.step_taken_us = 200;
  found.profiled->taken_us = 1;
  ASSERT_EQ(warnings(found).size(), 1U);
  EXPECT_EQ(warnings(found)[0],
            "Other processes or the hypervisor took CPU time, on average 0.200 ms of a timed step; "
            "0.00600 ms of a call of relu/conv1/forward, cold. Findings leave out what that time "
            "may explain");
}

/// memnet's step on two threads beside a busy process: Adam's few parameters took 5 ms when their
/// op ran separately.
TEST_F(Explain, DrawsNoFindingFromContradictions) {
  call("adam", OpClass::kOptimization, {"adam/params/update"}, 30e-6);
  ops.push_back(op("adam", "params", Pass::kUpdate, 1, {{kTorch, 5000}, {kOneDnn, 3}}));
  step_us = 1500;
  const Explanation found = explained();
  for (const auto& one : findings(found, 9)) {
    EXPECT_EQ(one.words.find("adam"), std::string::npos) << one.words;
    EXPECT_NE(one.kind, "between_ops");
    EXPECT_NE(one.kind, "memory");
  }
  const auto lines = warnings(found);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[0].find("timed step (1.50 ms) and the profiled step (1.07 ms)"),
            std::string::npos)
      << lines[0];
  EXPECT_NE(lines[1].find("adam/params/update: hot (5.00 ms) and in step (0.0300 ms)"),
            std::string::npos)
      << lines[1];
  const std::string text = explanation_text(found);
  EXPECT_LT(text.find("Warning: The timed step"), text.find("best other  ")) << text;
  const auto json = nlohmann::json::parse(explanations_json({found}))["explanations"][0];
  EXPECT_EQ(json["warnings"].size(), 2U);
  EXPECT_FALSE(json.contains("step_taken_us"));
}

TEST(ExplainRows, RunColdWhereHotFitsTheCaches) {
  const auto rows = make_rows(
      parsed({"--fathom_explain=vgg/train", "--fathom_device=cpu", "--fathom_threads=1"}));
  const auto with = [&](const char* filter) { return filtered(rows, filter).size(); };
  EXPECT_EQ(with("^op/relu/vgg/conv5_1/forward/.*cache:cold/backend:torch"), 1U);
  EXPECT_EQ(with("^op/relu/vgg/conv5_1/forward/.*cache:cold/backend:onednn"), 1U);
  EXPECT_EQ(with("^op/momentum/vgg/.*cache:hot/backend:torch"), 1U);
  // The update moves 2.9 GB. It reads and writes what it changes, so its buffers are half of that.
  const double caches = last_level_cache_bytes(fixtures::Device::kCpu, fixtures::usable_cores());
  EXPECT_EQ(with("^op/momentum/vgg/.*cache:cold/backend:torch"),
            2.9e9 / 2 < kBeyondCache * caches ? 1U : 0U);
}

}  // namespace
}  // namespace fathom::benchmarks
