#include "benchmarks/tasks/step_choice.h"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "tests/temporary_folder.h"

namespace fathom::benchmarks {
namespace {

class ChoiceFile : public testing::Test {
 protected:
  std::string written(const std::string& text) {
    const auto path = folder.path() / "run.json.kernels.json";
    std::ofstream(path) << text;
    return path;
  }

  /// Why a file is refused, after its path.
  std::string refusal(const std::string& text) {
    const std::string path = written(text);
    try {
      read_choices(path);
    } catch (const std::runtime_error& error) {
      return std::string(error.what()).substr(path.size() + 2);
    }
    return "no error";
  }

  tests::TemporaryFolder folder;
};

TEST_F(ChoiceFile, IsReadAsItWasWritten) {
  const StepChoices choices{{"vgg/train/device:cpu/threads:2",
                             {.layout = models::Layout::kChannelsLast,
                              .cuda_graph = true,
                              .kernels = {{.op = "addmm",
                                           .call = "float[4] float[2,3]",
                                           .kernel = "onednn",
                                           .us = {{"onednn", 1.5}, {"torch", 2}},
                                           .calls = 8},
                                          {.op = "mm", .call = "", .kernel = "torch"}},
                              .seconds = 3}},
                            {"memnet/infer", {}}};
  const StepChoices read = read_choices(written(choices_json(choices)));
  ASSERT_EQ(read.size(), 2);
  const StepChoice& vgg = read.at("vgg/train/device:cpu/threads:2");
  EXPECT_EQ(vgg.layout, models::Layout::kChannelsLast);
  EXPECT_TRUE(vgg.cuda_graph);
  EXPECT_EQ(vgg.seconds, 3);
  ASSERT_EQ(vgg.kernels.size(), 2);
  EXPECT_EQ(vgg.kernels[0].calls, 8);
  EXPECT_EQ(vgg.kernels[0].op, "addmm");
  EXPECT_EQ(vgg.kernels[0].call, "float[4] float[2,3]");
  EXPECT_EQ(vgg.kernels[0].kernel, "onednn");
  EXPECT_EQ(vgg.kernels[0].us, (std::map<std::string, double>{{"onednn", 1.5}, {"torch", 2}}));
  EXPECT_EQ(read.at("memnet/infer").layout, models::Layout::kContiguous);
  EXPECT_FALSE(read.at("memnet/infer").cuda_graph);
}

TEST_F(ChoiceFile, IsRefusedWithThePlaceOfTheFault) {
  EXPECT_EQ(refusal("{"), "not JSON, expected a <out>.kernels.json of this program");
  EXPECT_EQ(refusal("[]"), "found [], expected an object");
  EXPECT_EQ(refusal(R"({"rows": 1})"), "\"rows\" is 1, expected a list");
  EXPECT_EQ(refusal(R"({"rows": [{"name": "a", "layout": "best"}]})"),
            "rows[0]: \"layout\" is \"best\", expected one of contiguous, channels_last");
  const std::string row =
      R"({"rows": [{"name": "a", "layout": "contiguous", "choice_seconds": 1, "kernels": [)";
  EXPECT_EQ(
      refusal(row + R"({"op": "mm", "call": "", "kernel": "torch", "us": {"torch": ""}}]}]})"),
      "rows[0].kernels[0]: \"us\" is {\"torch\":\"\"}, expected an object of numbers");
  const std::string call = R"({"op": "mm", "call": "", "kernel": "torch", "calls": 1, "us": {}})";
  EXPECT_EQ(refusal(row + call + "," + call + "]}]}"),
            "rows[0].kernels[1]: an earlier one is of the same call");
  const std::string empty =
      R"({"name": "a", "layout": "contiguous", "choice_seconds": 1, "kernels": []})";
  EXPECT_EQ(refusal(R"({"rows": [)" + empty + "," + empty + "]}"),
            "rows[1]: \"name\" is that of an earlier row, expected each once");
  EXPECT_THROW(read_choices(folder.path() / "absent.json"), std::runtime_error);
  try {
    read_choices(folder.path());
    FAIL() << "accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with(folder.path().string())) << error.what();
  }
}

}  // namespace
}  // namespace fathom::benchmarks
