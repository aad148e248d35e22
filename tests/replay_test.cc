#include "fixtures/replay.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <set>

#include "fixtures/device.h"
#include "fixtures/memory.h"
#include "fixtures/paddle_game.h"
#include "fixtures/transitions.h"
#include "tests/messages.h"
#include "tests/temporary_folder.h"

namespace fathom::fixtures {
namespace {

using tests::failure;

/// A frame that knows its time.
std::array<uint8_t, kFrameBytes> frame_of(int time) {
  std::array<uint8_t, kFrameBytes> frame;
  frame.fill(static_cast<uint8_t>(time % 251));
  std::memcpy(frame.data(), &time, sizeof time);
  return frame;
}

int time_of(const at::Tensor& frame) {
  int time = 0;
  std::memcpy(&time, frame.const_data_ptr<uint8_t>(), sizeof time);
  return time;
}

void push(Replay& replay, int from, int to) {
  for (int time = from; time < to; ++time) {
    replay.push(frame_of(time), time % 4, time % 7 - 3, time % 10 == 0);
  }
}

/// The times i of `samples` transitions, each checked field by field.
std::map<int, int> sampled_times(const Replay& replay, int64_t samples) {
  Random random(1);
  std::map<int, int> times;
  const Batch batch = replay.sample(samples, random);
  for (int64_t n = 0; n < samples; ++n) {
    const at::Tensor state = batch[kStates][n];
    const at::Tensor next = batch[kNextStates][n];
    const int time = time_of(state[3]);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(time_of(state[i]), time - 3 + i);
      EXPECT_EQ(time_of(next[i]), time - 2 + i);
      EXPECT_EQ(state[i][83][83].item<int>(), (time - 3 + i) % 251);
    }
    EXPECT_EQ(batch[kActions][n].item<int64_t>(), time % 4);
    const int reward = time % 7 - 3;
    EXPECT_EQ(batch[kRewards][n].item<float>(), reward > 0 ? 1 : reward < 0 ? -1 : 0);
    EXPECT_EQ(batch[kTerminals][n].item<float>(), time % 10 == 0 ? 1 : 0);
    ++times[time];
  }
  return times;
}

TEST(Replay, GivesBatchesOfTransitions) {
  Replay replay(100);
  push(replay, 0, 50);
  Random random(1);
  const Batch batch = replay.sample(6, random);
  ASSERT_EQ(batch.size(), 5U);
  EXPECT_EQ(batch[kStates].sizes(), (std::vector<int64_t>{6, 4, 84, 84}));
  EXPECT_EQ(batch[kStates].scalar_type(), at::kByte);
  EXPECT_EQ(batch[kNextStates].sizes(), batch[kStates].sizes());
  EXPECT_EQ(batch[kNextStates].scalar_type(), at::kByte);
  EXPECT_EQ(batch[kActions].sizes(), (std::vector<int64_t>{6}));
  EXPECT_EQ(batch[kActions].scalar_type(), at::kLong);
  EXPECT_EQ(batch[kRewards].scalar_type(), at::kFloat);
  EXPECT_EQ(batch[kTerminals].scalar_type(), at::kFloat);
}

// Every fill of a small ring, from the first transition to three times round: exactly the
// transitions that lie between the oldest frame and the newest, each with its frames in order.
TEST(Replay, SamplesAllThatItHoldsAndNothingAcrossItsHead) {
  constexpr int kCapacity = 9;
  Replay replay(kCapacity);
  for (int pushed = 1; pushed <= 3 * kCapacity; ++pushed) {
    push(replay, pushed - 1, pushed);
    EXPECT_EQ(replay.size(), std::min(pushed, kCapacity));
    if (pushed < 5) {
      Random random(1);
      EXPECT_THROW(replay.sample(1, random), std::logic_error);
      continue;
    }
    std::set<int> expected;
    for (int time = std::max(0, pushed - kCapacity) + 3; time < pushed - 1; ++time) {
      expected.insert(time);
    }
    std::set<int> found;
    for (const auto& [time, count] : sampled_times(replay, 200)) found.insert(time);
    EXPECT_EQ(found, expected) << pushed << " frames pushed";
  }
}

TEST(Replay, SamplesUniformly) {
  Replay replay(24);
  push(replay, 0, 40);  // wrapped, 20 transitions
  const auto times = sampled_times(replay, 2000);
  EXPECT_EQ(times.size(), 20U);
  for (const auto& [time, count] : times) EXPECT_NEAR(count, 100, 50) << time;  // 5 deviations
}

TEST(Replay, DrawsTheSameForTheSameSeedOnAnyThreads) {
  Replay replay(50);
  push(replay, 0, 70);
  Random one(3);
  Random another(3);
  Random different(4);
  set_threads(1);
  const Batch batch = replay.sample(64, one);
  set_threads(3);
  EXPECT_TRUE(at::equal(batch[kStates], replay.sample(64, another)[kStates]));
  EXPECT_FALSE(at::equal(batch[kStates], replay.sample(64, different)[kStates]));
}

TEST(Replay, RepeatsWhatItHoldsUntilItIsFull) {
  Replay replay(23);
  push(replay, 0, 10);
  replay.repeat();
  EXPECT_EQ(replay.size(), 23);
  Random random(1);
  const Batch batch = replay.sample(200, random);
  std::set<int> times;
  for (int64_t n = 0; n < 200; ++n) {
    const at::Tensor state = batch[kStates][n];
    for (int i = 1; i < 4; ++i) EXPECT_EQ(time_of(state[i]), (time_of(state[i - 1]) + 1) % 10);
    times.insert(time_of(state[3]));
  }
  EXPECT_EQ(times.size(), 10U);
}

TEST(Replay, AsksForNoMemoryThatIsNotThere) {
  constexpr int64_t kFrames = 1'000'000'000'000;  // 7 PB
  const std::string message = failure([] { const Replay replay(kFrames); });
  EXPECT_EQ(
      message.rfind("a replay memory of 1000000000000 frames needs 7072000000000000 bytes", 0), 0U)
      << message;
  EXPECT_NE(message.find("--fathom_replay"), std::string::npos) << message;
  EXPECT_NE(failure([] { const Replay replay(4); }).find("at least 5"), std::string::npos);
}

TEST(Memory, IsComparedBeforeItIsAskedFor) {
  EXPECT_EQ(failure([] { expect_memory(10, "a thing", "make it smaller", 9); }),
            "a thing needs 10 bytes of memory, but 9 are available; make it smaller");
  EXPECT_NO_THROW(expect_memory(10, "a thing", "", 10));
  EXPECT_NO_THROW(expect_memory(10, "a thing", "", std::nullopt));
}

TEST(Memory, IsWhatTheMachineAndTheControlGroupsLeave) {
  const tests::TemporaryFolder folder;
  EXPECT_EQ(available_memory(folder.path()), std::nullopt);
  folder.write("proc/meminfo", "MemTotal:  2000 kB\nMemAvailable:   1000 kB\n");
  EXPECT_EQ(available_memory(folder.path()), 1000 * 1024);
  folder.write("proc/self/cgroup", "4:memory:/box\n0::/a/b\n");
  EXPECT_EQ(available_memory(folder.path()), 1000 * 1024);
  folder.write("sys/fs/cgroup/a/b/memory.max", "max\n");
  folder.write("sys/fs/cgroup/a/b/memory.current", "90000\n");
  EXPECT_EQ(available_memory(folder.path()), 1000 * 1024);
  folder.write("sys/fs/cgroup/a/memory.max", "100000\n");
  folder.write("sys/fs/cgroup/a/memory.current", "90000\n");
  EXPECT_EQ(available_memory(folder.path()), 10'000);
  folder.write("sys/fs/cgroup/a/memory.stat", "anon 50000\ninactive_file 40000\n");
  EXPECT_EQ(available_memory(folder.path()), 50'000);
  folder.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "3000\n");  // version 1
  folder.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
  EXPECT_EQ(available_memory(folder.path()), 2000);
}

TEST(Transitions, AreTheSameBitsForTheSameRequest) {
  const auto pool = transitions(4, {.batch = 16, .count = 2, .seed = 5});
  const auto again = transitions(4, {.batch = 16, .count = 2, .seed = 5});
  ASSERT_EQ(pool.batches.size(), 2U);
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t field = 0; field < 5; ++field) {
      EXPECT_TRUE(at::equal(pool.batches[b][field], again.batches[b][field]));
    }
  }
  EXPECT_FALSE(at::equal(pool.batches[0][kStates], pool.batches[1][kStates]));
  const auto other = transitions(4, {.batch = 16, .count = 2, .seed = 6});
  EXPECT_FALSE(at::equal(pool.batches[0][kStates], other.batches[0][kStates]));
}

TEST(Transitions, HaveTheStatisticsOfAGame) {
  std::vector<std::string> progress;
  PoolRequest request{.batch = 2000, .seed = 1};
  request.source.progress = [&](const std::string& text) { progress.push_back(text); };
  const Batch batch = transitions(/*actions=*/3, request).batches[0];
  EXPECT_EQ(batch[kActions].min().item<int64_t>(), 0);
  EXPECT_EQ(batch[kActions].max().item<int64_t>(), 2);
  const auto rewarded = batch[kRewards].mean().item<float>();
  EXPECT_GT(rewarded, 0.002);
  EXPECT_LT(rewarded, 0.05);
  EXPECT_LT(batch[kTerminals].mean().item<float>(), 0.01);
  EXPECT_NEAR(batch[kStates].eq(0).to(at::kFloat).mean().item<float>(), 0.7, 0.1);
  EXPECT_EQ(progress.front(), "playing paddle game (built in), frame 0 of 4096");
  EXPECT_EQ(make_environment({}, 0)->action_count(), 4);
}

TEST(Fill, LeavesAFullMemory) {
  const auto game = make_paddle_game(1);
  Replay replay(500);
  Random random(1);
  fill(*game, replay, random, [](const std::string&) {});
  EXPECT_EQ(replay.size(), replay.capacity());
}

}  // namespace
}  // namespace fathom::fixtures
