// The cases of a room share a process. Each starts as if it were alone: with one thread and
// LibTorch's first seed.

#include <ATen/Context.h>
#include <c10/core/GeneratorImpl.h>
#include <gtest/gtest.h>

#include "fixtures/machine/device.h"

namespace {

class Restart final : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& /*test*/) override {
    fathom::fixtures::set_threads(1);
    at::manual_seed(c10::default_rng_seed_val);
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new Restart);
  return RUN_ALL_TESTS();
}
