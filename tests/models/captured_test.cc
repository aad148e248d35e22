#include "models/captured.h"

#include <ATen/ops/ones.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "ops/cuda/library.h"

// Runs with fake_fathom_cuda.cc in place of libfathom_cuda.so.

namespace fathom::models {
namespace {

class Captured : public testing::Test {
 protected:
  void SetUp() override {
    if (ops::cuda_library() != nullptr) GTEST_SKIP() << "this machine has a GPU";
    fake_ = dlopen("libfake_fathom_cuda.so", RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(fake_, nullptr) << dlerror();
  }
  void TearDown() override {
    if (fake_ != nullptr) dlclose(fake_);
  }

  static std::string message(const std::function<void()>& work) {
    try {
      captured({.warm_up = [] {}, .work = work, .graphs = 1});
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  }

 private:
  void* fake_ = nullptr;
};

TEST_F(Captured, NamesTheCallThatThrew) {
  EXPECT_EQ(message([] {
              at::ones({2}).sqrt();
              throw std::runtime_error("not permitted\nbacktrace");
            }),
            "aten::sqrt cannot be captured in a CUDA graph: not permitted");
}

TEST_F(Captured, NamesTheStepOnceTheWorkHasReturned) {
  EXPECT_EQ(message([] { at::ones({2}).sqrt(); }),
            "the step cannot be captured in a CUDA graph: CUDA error: out of memory");
}

}  // namespace
}  // namespace fathom::models
