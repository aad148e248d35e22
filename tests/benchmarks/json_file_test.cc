#include "benchmarks/output/files/json_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <thread>

#include "benchmarks/error.h"
#include "benchmarks/output/exit_code.h"
#include "benchmarks/output/files/json.h"
#include "benchmarks/output/files/output_lock.h"
#include "fixtures/files/data_error.h"
#include "ops/core/field_reader.h"

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
  file.add({run("row")});
  try {
    file.end();
    FAIL() << "no exception";
  } catch (const std::system_error& error) {
    EXPECT_STREQ(error.what(), "/dev/full: No space left on device");
  }
}

/// What a reader of a pipe gets from a file with two rows.
class PipeReader {
 public:
  explicit PipeReader(const std::string& path)
      : reader_([this, path] {
          std::ostringstream text;
          text << std::ifstream(path).rdbuf();
          text_ = text.str();
        }) {}
  std::string text() {
    reader_.join();
    return text_;
  }

 private:
  std::string text_;
  std::thread reader_;
};

TEST_F(JsonOutput, GivesAPipeOneDocument) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  PipeReader reader(path);
  {
    JsonFile file(path);
    file.begin({});
    file.add({run("first")});
    file.add({run("second")});
    file.end();
  }
  EXPECT_EQ(nlohmann::json::parse(reader.text())["benchmarks"].size(), 2U);
}

TEST_F(JsonOutput, GivesAPipeTheRowsOfARunThatEndsEarly) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  PipeReader reader(path);
  {
    JsonFile file(path);
    file.begin({});
    file.add({run("row")});
  }
  EXPECT_EQ(nlohmann::json::parse(reader.text())["benchmarks"].size(), 1U);
}

TEST(StrictJson, HasNoBytesThatJsonForbids) {
  const std::string text = strict_json("{\"a\\\"\": \"x\xE9y\x01\x1B\tz\",\n  \"\xC3\xA9\": 1}\n");
  const auto read = nlohmann::json::parse(text);
  EXPECT_EQ(read["a\""], "x\uFFFDy\x01\x1B\tz");
  EXPECT_EQ(read["\u00E9"], 1);
}

TEST(StrictJson, TellsTheBuildTypeOfTheProgramAndThatOfGoogleBenchmark) {
  const auto read = nlohmann::json::parse(
      strict_json("{\n    \"library_build_type\": \"other\",\n    \"command_line\": \"\"\n}"));
#ifdef NDEBUG
  EXPECT_EQ(read["library_build_type"], "release");
#else
  EXPECT_EQ(read["library_build_type"], "debug");
#endif
  EXPECT_EQ(read["google_benchmark_build_type"], "other");
}

TEST_F(JsonOutput, IsLockedForOthers) {
  const std::string lock = path + ".lock";
  {
    const OutputLock first("--benchmark_out", path);
    try {
      const OutputLock second("--benchmark_out", path);
      FAIL() << "no exception";
    } catch (const UsageError& error) {
      EXPECT_EQ(error.what(), "--benchmark_out=" + path + ": process " + std::to_string(getpid()) +
                                  " writes this file; expected another file, or a start after its "
                                  "end");
    }
    const OutputLock other("--benchmark_out", path + "2");
  }
  EXPECT_FALSE(std::filesystem::exists(lock));
  std::ofstream(lock) << "1 of-a-killed-process\n";
  const OutputLock again("--benchmark_out", path);
}

TEST_F(JsonOutput, IsLockedWhereALinkLeads) {
  const std::string link = (folder / "link.json").string();
  std::filesystem::create_symlink(path, link);
  const OutputLock first("--benchmark_out", path);
  EXPECT_THROW(OutputLock("--benchmark_out", link), UsageError);
}

TEST(Devices, AreNotLocked) {
  const OutputLock first("--benchmark_out", "/dev/null");
  const OutputLock second("--benchmark_out", "/dev/null");
  const OutputLock none("--benchmark_out", "");
  EXPECT_FALSE(std::filesystem::exists("/dev/null.lock"));
}

TEST(ExitCodes, TellWrongUsageFromFaultsOfTheProgram) {
  EXPECT_EQ(exit_code(UsageError("")), kUsage);
  EXPECT_EQ(exit_code(fixtures::DataError("")), kUsage);
  EXPECT_EQ(exit_code(ops::ShapeError("")), kUsage);
  EXPECT_EQ(exit_code(RankLost("")), kBenchmarkFailed);
  EXPECT_EQ(exit_code(std::logic_error("")), kProgramFailed);
  EXPECT_EQ(exit_code(std::runtime_error("")), kProgramFailed);
  EXPECT_EQ(exit_code(std::bad_alloc()), kProgramFailed);
  EXPECT_EQ(last_line(std::bad_alloc()), "no memory is left (std::bad_alloc)");
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
