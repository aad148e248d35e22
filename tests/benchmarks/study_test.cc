#include "benchmarks/rows/study.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "benchmarks/error.h"
#include "tests/benchmarks/parsed_options.h"

namespace fathom::benchmarks {
namespace {

class EveryStudy : public testing::TestWithParam<std::string_view> {
 protected:
  std::vector<Row> rows() const {
    return study_rows(parsed({"--fathom_study=" + std::string(GetParam()), "--fathom_device=cpu",
                              "--benchmark_out=run.json"}));
  }
  std::vector<Row> rows(const std::string& filter) const { return filtered(rows(), filter); }
};

INSTANTIATE_TEST_SUITE_P(Table, EveryStudy, testing::ValuesIn(kStudyNames),
                         [](const auto& study) { return std::string(study.param); });

TEST_P(EveryStudy, RunsEachRowOnceAndEveryWorkload) {
  std::set<std::string> names;
  std::set<std::string> workloads;
  for (const auto& row : rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    const std::string first = row.name.substr(0, row.name.find('/'));
    if (!row.op) workloads.insert(first.substr(0, first.find('_')));
  }
  EXPECT_EQ(workloads, (std::set<std::string>{"alexnet", "autoenc", "deepq", "memnet", "residual",
                                              "seq2seq", "speech", "vgg"}));
}

TEST_P(EveryStudy, ProfilesStepsAtFathomsBatchAndMeasuresTheirMemoryAtMaxThreads) {
  const std::string max_threads = "threads:" + std::to_string(fixtures::usable_cores()) + "/";
  const auto steps = rows("^vgg/.*batch:8/.*backend:torch");
  ASSERT_FALSE(steps.empty());
  for (const auto& row : steps) {
    EXPECT_EQ(row.profiling, Profiling::kOpTypes) << row.name;
    EXPECT_EQ(row.memory != nullptr, row.name.find(max_threads) != std::string::npos) << row.name;
  }
}

TEST_P(EveryStudy, SweepsBatchesAroundFathoms) {
  for (const char* batch : {"2", "4", "8"}) {
    EXPECT_FALSE(rows(std::string("^vgg/train/.*batch:") + batch + "/").empty()) << batch;
  }
  EXPECT_TRUE(rows("^vgg/infer/.*batch:2/").empty());
}

TEST_P(EveryStudy, RunsColdOpsOnlyWithTheBackendOfTheSteps) {
  EXPECT_FALSE(rows("^op/conv2d/residual/.*cache:hot/backend:torch").empty());
  EXPECT_FALSE(rows("^op/conv2d/residual/.*cache:cold/backend:torch").empty());
  EXPECT_TRUE(rows("cache:cold/backend:onednn").empty());
}

TEST_P(EveryStudy, ExpectsLongerTimesOfLargerSteps) {
  std::map<std::string, Peak> known;
  for (const auto& row : rows()) {
    known[flops_peak_name(row.device, row.threads, row.precision)] = {.rate = 1e11 * row.threads,
                                                                      .from = "the test"};
  }
  Peaks peaks(known);
  const auto all = expected_seconds(rows(), peaks);
  const auto seconds = [&](const std::string& filter) { return all.at(rows(filter).front().name); };
  EXPECT_GT(seconds("^vgg/train/.*batch:8/"), 2 * seconds("^vgg/train/.*batch:2/"));
  EXPECT_GT(seconds("^vgg/train/.*batch:8/"), seconds("^vgg/infer/"));
  EXPECT_GT(seconds("^vgg/infer/"), seconds("^memnet/infer/"));
}

/// A peak is unknown where a GPU's memory does not suffice.
TEST_P(EveryStudy, ExpectsAFiniteTimeWithoutAPeak) {
  const std::vector<Row> some = rows("^vgg/train/");
  std::map<std::string, Peak> unknown;
  for (const auto& row : some) unknown[flops_peak_name(row.device, row.threads, row.precision)];
  Peaks peaks(unknown);
  for (const auto& [name, seconds] : expected_seconds(some, peaks)) {
    EXPECT_TRUE(std::isfinite(seconds)) << name;
  }
}

TEST(Study, RunsStepsOnOtherKernelsAtMaxThreadsInTheFullOneOnly) {
  for (const std::string study : {"short", "full"}) {
    std::map<std::string, std::set<std::string>> steps;  // by backend
    for (const auto& row : study_rows(parsed({"--fathom_study=" + study, "--benchmark_out=run.json",
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

TEST(Study, KeepsSamplesOfShortStepsOnly) {
  for (const auto& row : study_rows(parsed({"--fathom_study=short", "--benchmark_out=run.json"}))) {
    const bool light = row.name.starts_with("memnet/") || row.name.starts_with("autoenc/") ||
                       row.name.starts_with("deepq/") || row.name.starts_with("seq2seq/");
    EXPECT_EQ(row.samples, light && row.profiling != Profiling::kNone) << row.name;
  }
}

TEST(Study, WritesSamplesBesideItsFile) {
  const std::vector<std::string> arguments{"--fathom_study=short", "--benchmark_out=run.json"};
  EXPECT_EQ(parsed(arguments).samples, "run.json.samples.jsonl");
  auto elsewhere = arguments;
  elsewhere.emplace_back("--fathom_samples=steps.jsonl");
  EXPECT_EQ(parsed(elsewhere).samples, "steps.jsonl");
}

TEST(Study, ExcludesOptionsThatItSetsItself) {
  const std::vector<std::string> arguments{"--fathom_study=short", "--benchmark_out=run.json"};
  for (const char* other : {"--fathom_batch=4", "--fathom_cache=hot", "--fathom_backend=torch",
                            "--fathom_profile", "--fathom_memory", "--fathom_shapes=mine.json",
                            "--fathom_record=shapes", "--fathom_explain=vgg/train"}) {
    auto both = arguments;
    both.emplace_back(other);
    EXPECT_THROW(parsed(both), UsageError) << other;
  }
  EXPECT_THROW(parsed({"--fathom_study=short"}), UsageError);
  EXPECT_THROW(parsed({"--fathom_study=long", "--benchmark_out=run.json"}), UsageError);
}

}  // namespace
}  // namespace fathom::benchmarks
