#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "benchmarks/isolate/child.h"
#include "tests/temporary_folder.h"

namespace fathom::benchmarks {

/// Runs a part of the current test in a new process, for settings that no process takes back.
/// Returns what it wrote to stderr; its failures are this test's.
template <typename Part>
std::string in_own_process(const Part& part) {
  constexpr const char* kAlone = "FATHOM_TEST_ALONE";
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  if (std::getenv(kAlone) != nullptr) {  // this is the new process
    part();
    for (int i = 0; i < test.result()->total_part_count(); ++i) {
      std::cerr << test.result()->GetTestPartResult(i).message() << '\n';
    }
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  }
  const tests::TemporaryFolder folder("own_process");
  const std::string errors = folder.path() / "errors";
  const std::string name = std::string(test.test_suite_name()) + '.' + test.name();
  setenv(kAlone, "1", 1);
  const ChildExit ended = run_child({"own_process", "--gtest_filter=" + name}, errors,
                                    {.seconds = 60, .bytes = 8e9}, [] {});
  unsetenv(kAlone);
  std::ostringstream text;
  text << std::ifstream(errors).rdbuf();
  EXPECT_EQ(ended.code, 0) << ended.reason << text.str();
  return text.str();
}

}  // namespace fathom::benchmarks
