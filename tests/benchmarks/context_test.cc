#include "benchmarks/output/context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/benchmarks/parsed_options.h"

namespace fathom::benchmarks {
namespace {

/// The entry of the context; empty where there is none.
std::string entry(const std::string& key) {
  const ContextEntries entries = context(parsed({"--fathom_device=cpu"}));
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& one) { return one.first == key; });
  return found == entries.end() ? "" : found->second;
}

/// Sets a variable of the environment while it exists.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Context, HoldsTheVariablesThatChangeWhatCudaDoes) {
  const std::string before = entry("cuda_environment");
  const Variable cudnn("CUDNN_LOGLEVEL_DBG", "0");
  const Variable tf32("NVIDIA_TF32_OVERRIDE", "0");
  const Variable other("CUDA_HOME_OF_NOBODY", "/usr");
  const std::string now = entry("cuda_environment");
  EXPECT_NE(now.find("CUDNN_LOGLEVEL_DBG=0"), std::string::npos) << now;
  EXPECT_NE(now.find("NVIDIA_TF32_OVERRIDE=0"), std::string::npos) << now;
  EXPECT_EQ(now.find("CUDA_HOME_OF_NOBODY"), std::string::npos) << now;
  EXPECT_NE(now, before);
}

}  // namespace
}  // namespace fathom::benchmarks
