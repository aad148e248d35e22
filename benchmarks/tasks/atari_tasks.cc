// Times the work of a deep Q-learning agent outside its network: game, screens, replay memory.
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/upsample_bilinear2d.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "benchmarks/tasks/fixture_task.h"
#include "fixtures/games/atari.h"
#include "fixtures/games/replay.h"
#include "fixtures/games/transitions.h"

namespace fathom::benchmarks {
namespace {

using fixtures::Environment;
using fixtures::Random;

constexpr int64_t kTransitions = 32;  // Fathom's
constexpr int kStepsBefore = 256;     // played before the screen is taken

/// Takes a random action and reads the next screen.
class AtariStep final : public Task {
 public:
  explicit AtariStep(const FixtureOptions& options)
      : random_(fixtures::seed_for(options.seed, "agent")),
        environment_(
            fixtures::make_environment(options.data, fixtures::seed_for(options.seed, "game"))) {}

  void run() override {
    ++steps_;
    const auto action = random_.below(environment_->action_count());
    if (environment_->step(static_cast<int>(action)).terminal) {
      ++resets_;
      environment_->reset();
    }
    screen_ = environment_->screen();
  }

  void check() override {
    if (screen_.size() != fixtures::kScreenBytes) {
      throw std::runtime_error("the screen has " + std::to_string(screen_.size()) +
                               " bytes, expected " + std::to_string(fixtures::kScreenBytes));
    }
  }
  void check_finite() override {}

  StepCounts counts() const override {
    StepCounts counts;
    counts.items = 1;
    counts.counters.emplace_back("resets_per_step",
                                 static_cast<double>(resets_) / static_cast<double>(steps_));
    counts.label = environment_->name();
    return counts;
  }

 private:
  Random random_;
  std::unique_ptr<Environment> environment_;
  std::span<const uint8_t> screen_;
  int64_t steps_ = 0;
  int64_t resets_ = 0;
};

/// Converts a screen, [210, 160, 3] RGB, to the gray frame [84, 84] that the replay memory stores.
class Preprocess final : public Task {
 public:
  explicit Preprocess(const FixtureOptions& options) {
    const auto environment =
        fixtures::make_environment(options.data, fixtures::seed_for(options.seed, "game"));
    Random random(fixtures::seed_for(options.seed, "agent"));
    for (int i = 0; i < kStepsBefore; ++i) {
      const auto action = random.below(environment->action_count());
      if (environment->step(static_cast<int>(action)).terminal) environment->reset();
    }
    const auto screen = environment->screen();
    screen_.assign(screen.begin(), screen.end());
    counts_.items = 1;
    counts_.label = environment->name();
  }

  void run() override { fixtures::preprocess(screen_, frame_); }

  /// Compares with LibTorch's bilinear resize, which does not round intermediate results.
  void check() override {
    const at::Tensor rgb = at::from_blob(screen_.data(), {210, 160, 3}, at::kByte);
    const at::Tensor channels = rgb.permute({2, 0, 1}).unsqueeze(0).to(at::kFloat);
    const at::Tensor resized = at::upsample_bilinear2d(channels, {110, 84}, false)[0];
    const at::Tensor gray = 0.299 * resized[0] + 0.587 * resized[1] + 0.114 * resized[2];
    const at::Tensor frame = at::from_blob(frame_.data(), {84, 84}, at::kByte).to(at::kFloat);
    const auto off = (frame - gray.narrow(0, 26, 84).round()).abs().max().item<float>();
    if (!(off <= 1)) {
      throw std::runtime_error("a pixel differs by " + std::to_string(off) +
                               " from LibTorch's resize, expected at most 1");
    }
  }
  void check_finite() override {}

  StepCounts counts() const override { return counts_; }

 private:
  std::vector<uint8_t> screen_;
  std::array<uint8_t, fixtures::kFrameBytes> frame_{};
  StepCounts counts_;
};

/// Samples a batch from a full replay memory into existing tensors.
class ReplaySample final : public Task {
 public:
  explicit ReplaySample(const FixtureOptions& options)
      : random_(fixtures::seed_for(options.seed, "agent")),
        replay_(options.replay),
        batch_(fixtures::empty_transitions(kTransitions)) {
    const auto environment =
        fixtures::make_environment(options.data, fixtures::seed_for(options.seed, "game"));
    fixtures::fill(*environment, replay_, random_, options.data.progress);
    // A transition reads 5 frames and writes two states of 4 frames.
    constexpr std::size_t kFrames = 3 * fixtures::kStateFrames + 1;
    counts_.items = kTransitions;
    counts_.bytes = static_cast<double>(kTransitions) * kFrames * fixtures::kFrameBytes;
    counts_.counters.emplace_back("replay_frames", static_cast<double>(options.replay));
    counts_.label = environment->name();
  }

  void run() override { replay_.sample(random_, batch_); }

  void check() override {
    const auto& states = batch_[fixtures::kStates];
    const auto& next = batch_[fixtures::kNextStates];
    if (!at::equal(states.narrow(1, 1, 3), next.narrow(1, 0, 3))) {
      throw std::runtime_error(
          "a next state does not start with the last three frames of its state");
    }
  }
  void check_finite() override {}

  StepCounts counts() const override { return counts_; }

 private:
  Random random_;
  fixtures::Replay replay_;
  fixtures::Batch batch_;
  StepCounts counts_;
};

}  // namespace

std::unique_ptr<Task> make_atari_step(const FixtureOptions& options) {
  return std::make_unique<AtariStep>(options);
}

std::unique_ptr<Task> make_preprocess(const FixtureOptions& options) {
  return std::make_unique<Preprocess>(options);
}

std::unique_ptr<Task> make_replay_sample(const FixtureOptions& options) {
  return std::make_unique<ReplaySample>(options);
}

}  // namespace fathom::benchmarks
