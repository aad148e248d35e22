#include "benchmarks/output/json_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "benchmarks/error.h"
#include "benchmarks/output/json.h"

namespace fathom::benchmarks {
namespace {

class JsonOutput : public testing::Test {
 protected:
  JsonOutput() {
    std::filesystem::create_directories(folder);
    path = (folder / "out.json").string();
  }
  ~JsonOutput() override { std::filesystem::remove_all(folder); }

  static benchmark::BenchmarkReporter::Run run(const std::string& name) {
    benchmark::BenchmarkReporter::Run made;
    made.run_name.function_name = name;
    made.iterations = 1;
    made.real_accumulated_time = 1;
    return made;
  }
  nlohmann::json read() const { return nlohmann::json::parse(std::ifstream(path)); }

  std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("json" + std::to_string(getpid()));
  std::string path;
};

TEST(Sample, HasANameOnlyInItsOwnLines) {
  EXPECT_EQ(name_in_sample(sample_line("row", 0, 0, 1.5)), "row");
  for (const char* line : {"", "x", "[1]", "{}", R"({"name": 3})"}) {
    EXPECT_EQ(name_in_sample(line), "") << line;
  }
}

TEST_F(JsonOutput, IsWholeAfterEveryBenchmark) {
  JsonFile file(path);
  file.begin({});
  for (std::size_t i = 0; i < 3; ++i) {
    file.add({run("row" + std::to_string(i))});
    const auto document = read();
    ASSERT_EQ(document["benchmarks"].size(), i + 1);
    EXPECT_EQ(document["benchmarks"][i]["name"], "row" + std::to_string(i));
    EXPECT_TRUE(document["context"].contains("caches"));
  }
}

TEST_F(JsonOutput, KeepsAnEarlierFileUntilTheFirstRow) {
  std::ofstream(path) << R"({"old": true})";
  JsonFile file(path);
  file.begin({});
  EXPECT_TRUE(read().contains("old"));
  file.add({run("new")});
  EXPECT_FALSE(read().contains("old"));
}

TEST_F(JsonOutput, FollowsALink) {
  const auto link = folder / "link.json";
  std::ofstream(path) << "{}";
  std::filesystem::create_symlink(path, link);
  JsonFile file(link.string());
  file.begin({});
  file.add({run("row")});
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(read()["benchmarks"].size(), 1U);
}

TEST_F(JsonOutput, ReportsAFullDisk) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  JsonFile file("/dev/full");
  file.begin({});
  try {
    file.add({run("row")});
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "/dev/full: No space left on device");
  }
}

TEST_F(JsonOutput, RefusesAMissingFolder) {
  EXPECT_THROW(JsonFile("/nonexistent/out.json"), UsageError);
}

TEST_F(JsonOutput, RefusesAFolder) { EXPECT_THROW(JsonFile(folder.string()), UsageError); }

TEST(FailureLines, AreReadAsTheyWereWritten) {
  const auto read = failure_in_line(failure_line("vgg/train", 2, "no \"memory\""));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->reason, "no \"memory\"");
  EXPECT_EQ(read->repetition, 2);
  EXPECT_FALSE(failure_in_line(""));
  EXPECT_FALSE(failure_in_line(R"({"name": "vgg/train"})"));
}

}  // namespace
}  // namespace fathom::benchmarks
