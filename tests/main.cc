// The test cases of a room share a process. Each case starts in the state of a new process: with
// one thread and LibTorch's default seed.

#include <ATen/Context.h>
#include <c10/core/GeneratorImpl.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "fixtures/machine/device.h"

namespace {

class ResetState final : public testing::EmptyTestEventListener {
  /// Loads LibTorch's CUDA library if there is a GPU. After the first call of LibTorch, it would
  /// not be used.
  void OnTestProgramStart(const testing::UnitTest& /*tests*/) override {
    fathom::fixtures::unavailable_reason(fathom::fixtures::Device::kCuda);
  }

  void OnTestStart(const testing::TestInfo& /*test*/) override {
    fathom::fixtures::set_threads(1);
    at::manual_seed(c10::default_rng_seed_val);
  }
};

}  // namespace

int main(int argc, char** argv) {
  // Tests run ranks as threads of this process. c10d's flight recorder, which a process has once,
  // adds to a map without a lock when a group's first collective starts.
  setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1);
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new ResetState);
  return RUN_ALL_TESTS();
}
