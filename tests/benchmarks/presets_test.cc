#include "benchmarks/rows/presets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "benchmarks/error.h"
#include "benchmarks/output/files/peaks_json.h"
#include "benchmarks/rows/expected_seconds.h"
#include "models/table.h"
#include "tests/benchmarks/parsed_options.h"

namespace fathom::benchmarks {
namespace {

struct StudyCase {
  std::string_view name;
  std::set<std::string> workloads;
  std::string convolutional;  // a workload with op rows
  std::string light;          // the workload with the smallest step
};

const std::set<std::string> kFathoms{"alexnet",  "autoenc", "deepq",      "memnet",
                                     "residual", "seq2seq", "speech_150", "vgg"};
const std::set<std::string> kTbds{"a3c", "deepspeech2", "faster_rcnn", "inception_v3",
                                  "nmt", "resnet50",    "transformer", "wgan"};

const std::set<std::string> kLanguageModels{
    "gpt2",     "gpt2_decode",     "llama", "llama_decode", "llama_ragged_decode",
    "llama_1b", "llama_1b_decode", "moe",   "moe_decode",   "moe_6",
    "mamba",    "mamba_decode"};

std::set<std::string> all_workloads() {
  std::set<std::string> names{"gpt2_decode"};
  for (const auto& row : models::workloads()) {
    if (row.variant_of.empty()) names.emplace(row.name);
  }
  return names;
}

class EveryStudy : public testing::TestWithParam<StudyCase> {
 protected:
  std::vector<Row> rows() const {
    return make_rows(
        parsed({"--fathom_study=" + std::string(GetParam().name), "--fathom_device=cpu",
                "--fathom_threads=1,2", "--benchmark_out=run.json"}));
  }
  std::vector<Row> rows(const std::string& filter) const { return filtered(rows(), filter); }
};

INSTANTIATE_TEST_SUITE_P(Table, EveryStudy,
                         testing::Values(StudyCase{"fathom", kFathoms, "residual", "memnet"},
                                         StudyCase{"tbd", kTbds, "resnet50", "a3c"},
                                         StudyCase{"full", all_workloads(), "vgg", "memnet"}),
                         [](const auto& study) { return std::string(study.param.name); });

TEST_P(EveryStudy, RunsEachRowOnceAndItsWorkloads) {
  std::set<std::string> names;
  std::set<std::string> workloads;
  for (const auto& row : rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    if (!row.op) workloads.insert(row.name.substr(0, row.name.find('/')));
  }
  EXPECT_EQ(workloads, GetParam().workloads);
}

TEST(ModernStudy, InfersAtOtherBatchesAndContexts) {
  const auto all = make_rows(parsed({"--fathom_study=modern", "--fathom_device=cpu",
                                     "--fathom_threads=1,2", "--benchmark_out=run.json"}));
  std::set<std::string> names;
  std::set<std::string> workloads;
  for (const auto& row : all) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(row.threads, 2) << row.name;
    if (row.step) workloads.insert(row.step->workload);
  }
  EXPECT_EQ(workloads, kLanguageModels);
  const auto count = [&](const std::string& filter) { return filtered(all, filter).size(); };
  EXPECT_EQ(count("^llama_decode/infer/.*torch"), 9U);
  EXPECT_EQ(count("^llama_decode/infer/.*/batch:16/context:2048/.*torch"), 1U);
  EXPECT_EQ(count("^gpt2_decode/infer/.*torch"), 3U) << "its longest context is 1,023";
  EXPECT_EQ(count("^llama_ragged_decode/.*torch"), 1U);
  EXPECT_EQ(count("^llama/infer/.*/batch:1/context:2048/.*torch"), 1U);
  EXPECT_EQ(count("^gpt2/infer/.*torch"), 3U) << "its longest prompt is 1,024";
  EXPECT_EQ(count("^llama/generate/.*torch"), 1U);
  EXPECT_EQ(count("/generate/.*tuned"), 0U);
  EXPECT_EQ(count("^llama_decode/infer/.*tuned"), 1U);
  EXPECT_GT(count("^op/selective_scan/mamba/"), 0U);
}

TEST_P(EveryStudy, ProfilesStepsAtTheDefaultBatchAndMeasuresTheirMemoryAtMaxThreads) {
  const auto& workload = models::workload(GetParam().convolutional);
  const std::string batch = "batch:" + std::to_string(workload.batch) + "/";
  const auto steps = rows("^" + GetParam().convolutional + "/.*" + batch + ".*backend:torch");
  ASSERT_FALSE(steps.empty());
  for (const auto& row : steps) {
    EXPECT_EQ(row.profiling, Profiling::kOpTypes) << row.name;
    EXPECT_EQ(row.memory != nullptr, row.threads == 2) << row.name;
  }
}

TEST_P(EveryStudy, SweepsTheBatchesOfTraining) {
  const auto& workload = models::workload(GetParam().convolutional);
  for (const int64_t divisor : {1, 2, 4}) {
    const std::string batch = "batch:" + std::to_string(workload.batch / divisor) + "/";
    EXPECT_FALSE(rows("^" + GetParam().convolutional + "/train/.*" + batch).empty()) << batch;
    EXPECT_EQ(rows("^" + GetParam().convolutional + "/infer/.*" + batch).empty(), divisor > 1)
        << batch;
  }
}

TEST_P(EveryStudy, RunsColdOpsOnlyWithTheBackendOfTheSteps) {
  const std::string ops = "^op/conv2d/" + GetParam().convolutional;
  EXPECT_FALSE(rows(ops + "/.*cache:hot/backend:torch").empty());
  EXPECT_EQ(rows(ops + "/.*cache:cold/backend:torch").empty(), GetParam().name == "tbd");
  EXPECT_TRUE(rows("cache:cold/backend:onednn").empty());
}

TEST_P(EveryStudy, LeavesOutWhatNoFigureShows) {
  EXPECT_TRUE(rows("backend:torch_packed").empty());
}

TEST_P(EveryStudy, ExpectsLongerTimesOfLargerSteps) {
  std::map<std::string, Peak> known;
  for (const auto& row : rows()) {
    known[flops_peak_name(row.device, row.threads, row.precision)] = {.rate = 1e11 * row.threads,
                                                                      .from = "the test"};
  }
  Peaks peaks(known);
  const auto all = expected_seconds(rows(), /*repetitions=*/1, peaks);
  const auto seconds = [&](const std::string& filter) { return all.at(rows(filter).front().name); };
  const auto& [name, workloads, convolutional, light] = GetParam();
  const auto batch = [&](int64_t divisor) {
    return "/batch:" + std::to_string(models::workload(convolutional).batch / divisor) + "/";
  };
  const std::string train = "^" + convolutional + "/train/.*threads:2";
  EXPECT_GT(seconds(train + batch(1)), 2 * seconds(train + batch(4)));
  EXPECT_GT(seconds(train + batch(1)), seconds("^" + convolutional + "/infer/.*threads:2"));
  EXPECT_GT(seconds("^" + convolutional + "/infer/"), seconds("^" + light + "/infer/"));
  const std::string large = rows(train + batch(1)).front().name;
  const auto repeated = expected_seconds(rows(), /*repetitions=*/5, peaks);
  EXPECT_GT(repeated.at(large), 2 * all.at(large));
  EXPECT_LT(repeated.at(large), 5 * all.at(large)) << "it is set up once";
}

TEST(ExpectedSeconds, UseThePeakOfAllRanksOfAHostAndMeasureNone) {
  Row row{.name = "of ranks", .threads = 1, .ranks = 2, .ranks_here = 2};
  row.cost = ops::Cost{.flops = 6e12, .bytes = 0};
  Peaks peaks({{flops_peak_name(row.device, 2, row.precision), {.rate = 1e12, .from = "a test"}}});
  EXPECT_GT(expected_seconds({row}, /*repetitions=*/1, peaks).at("of ranks"), 10);
  EXPECT_EQ(peaks.find({row.device, 1, row.precision}), nullptr);
  EXPECT_TRUE(peak_doubts({row}, peaks).empty());
  EXPECT_EQ(peaks.find({row.device, 1, row.precision}), nullptr);
}

/// A peak is unknown where a GPU's memory does not suffice.
TEST_P(EveryStudy, ExpectsAFiniteTimeWithoutAPeak) {
  const std::vector<Row> some = rows("^" + GetParam().convolutional + "/train/");
  std::map<std::string, Peak> unknown;
  for (const auto& row : some) unknown[flops_peak_name(row.device, row.threads, row.precision)];
  Peaks peaks(unknown);
  for (const auto& [name, seconds] : expected_seconds(some, /*repetitions=*/1, peaks)) {
    EXPECT_TRUE(std::isfinite(seconds)) << name;
  }
}

TEST(Study, RunsStepsOnOtherKernelsAtMaxThreadsInTheFullOneOnly) {
  for (const std::string study : {"fathom", "tbd", "full"}) {
    std::map<std::string, std::set<std::string>> steps;  // by backend
    for (const auto& row : make_rows(parsed({"--fathom_study=" + study, "--benchmark_out=run.json",
                                             "--fathom_device=cpu", "--fathom_threads=1,2"}))) {
      if (!row.step || row.threads != 2) continue;
      if (row.own_process || row.memory != nullptr) steps[row.backend].insert(row.subject);
    }
    ASSERT_FALSE(steps.at("torch").empty());
    for (const char* backend : {"onednn", "tuned"}) {
      EXPECT_EQ(steps.contains(backend), study == "full") << backend;
      for (const auto& name : steps[backend]) {
        const std::string torch = name.substr(0, name.rfind(':') + 1) + "torch";
        EXPECT_TRUE(steps.at("torch").contains(torch)) << "the report compares it with " << torch;
      }
    }
  }
}

TEST(Study, OfTbdRunsStepsAndTheirOpsAtMaxThreads) {
  std::set<std::string> kinds;
  for (const auto& row : make_rows(parsed({"--fathom_study=tbd", "--benchmark_out=run.json",
                                           "--fathom_device=cpu", "--fathom_threads=1,2"}))) {
    EXPECT_EQ(row.threads, 2) << row.name;
    EXPECT_TRUE(row.op ? row.op->in_steps : row.backend == "torch") << row.name;
    kinds.insert(row.op ? "op" : "step");
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"op", "step"}));
}

TEST(Study, OfFathomKeepsSamplesOfItsShortStepsOnly) {
  for (const auto& row : make_rows(parsed({"--fathom_study=fathom", "--benchmark_out=run.json"}))) {
    const bool light = row.name.starts_with("memnet/") || row.name.starts_with("autoenc/") ||
                       row.name.starts_with("deepq/") || row.name.starts_with("seq2seq/");
    EXPECT_EQ(row.samples, light && row.profiling != Profiling::kNone) << row.name;
  }
}

TEST(Study, WritesSamplesBesideItsFile) {
  const std::vector<std::string> arguments{"--fathom_study=fathom", "--benchmark_out=run.json"};
  EXPECT_EQ(parsed(arguments).recording.samples, "run.json.samples.jsonl");
  auto elsewhere = arguments;
  elsewhere.emplace_back("--fathom_samples=steps.jsonl");
  EXPECT_EQ(parsed(elsewhere).recording.samples, "steps.jsonl");
  EXPECT_EQ(parsed({"--fathom_study=fathom", "--benchmark_out=/dev/null"}).recording.samples, "");
}

}  // namespace
}  // namespace fathom::benchmarks
