#include "fixtures/atari.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <set>

#include "fixtures/ale.h"
#include "fixtures/paddle_game.h"
#include "fixtures/random.h"
#include "tests/messages.h"
#include "tests/temporary_folder.h"

namespace fathom::fixtures {
namespace {

/// The bits of everything that is seen and earned in `steps` frames of random play.
uint64_t history(Environment& game, int steps, uint64_t agent) {
  Random random(agent);
  std::string seen;
  for (int i = 0; i < steps; ++i) {
    const auto result = game.step(static_cast<int>(random.below(game.action_count())));
    const auto screen = game.screen();
    seen.append(reinterpret_cast<const char*>(screen.data()), screen.size());
    seen += std::to_string(result.reward) + (result.terminal ? "T" : "");
    if (result.terminal) game.reset();
    seen = std::to_string(seed_for(0, seen));
  }
  return seed_for(0, seen);
}

uint64_t history_of(uint64_t seed, uint64_t agent = 1) {
  return history(*make_paddle_game(seed), 2000, agent);
}

TEST(PaddleGame, IsDecidedBySeedAndActions) {
  EXPECT_EQ(history_of(3), history_of(3));
  EXPECT_NE(history_of(3), history_of(4));
  EXPECT_NE(history_of(3), history_of(3, /*agent=*/2));
}

TEST(PaddleGame, WaitsForFire) {
  const auto game = make_paddle_game(1);
  const std::vector<uint8_t> before(game->screen().begin(), game->screen().end());
  for (int i = 0; i < 100; ++i) game->step(static_cast<int>(PaddleAction::kNoop));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), game->screen().begin()));
  game->step(static_cast<int>(PaddleAction::kFire));
  EXPECT_FALSE(std::equal(before.begin(), before.end(), game->screen().begin()));
}

TEST(PaddleGame, GivesPointsTakesLivesAndEnds) {
  const auto game = make_paddle_game(1);
  EXPECT_EQ(game->lives(), 5);
  Random random(1);
  std::set<int> rewards;
  std::set<int> lives;
  bool over = false;
  for (int i = 0; i < 20'000 && !over; ++i) {
    const auto result = game->step(static_cast<int>(random.below(game->action_count())));
    rewards.insert(result.reward);
    lives.insert(game->lives());
    over = result.terminal;
  }
  EXPECT_TRUE(over);
  EXPECT_EQ(lives, (std::set<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(rewards.count(0) && rewards.count(1));
  EXPECT_TRUE(game->step(static_cast<int>(PaddleAction::kFire)).terminal);
  game->reset();
  EXPECT_EQ(game->lives(), 5);
  EXPECT_FALSE(game->step(static_cast<int>(PaddleAction::kFire)).terminal);
}

/// The column of the middle of what has this colour; -1 where nothing has.
int64_t column_of(std::span<const uint8_t> screen, int64_t top, int64_t bottom, uint8_t red,
                  uint8_t green) {
  int64_t sum = 0;
  int64_t count = 0;
  for (int64_t y = top; y < bottom; ++y) {
    for (int64_t x = 0; x < kScreenWidth; ++x) {
      const auto pixel = static_cast<std::size_t>(3 * (y * kScreenWidth + x));
      if (screen[pixel] != red || screen[pixel + 1] != green) continue;
      sum += x;
      ++count;
    }
  }
  return count == 0 ? -1 : sum / count;
}

TEST(PaddleGame, CanBeWonByEyeAndGoesOnWithAnotherWall) {
  const auto game = make_paddle_game(5);
  int points = 0;
  bool over = false;
  for (int i = 0; i < 200'000 && !over && points <= 168; ++i) {
    const int64_t ball = column_of(game->screen(), 34, 210, 240, 240);
    const int64_t paddle = column_of(game->screen(), 192, 196, 110, 210);
    // Off the middle by turns, so that the ball does not go round in circles.
    const int64_t off = ball < 0 ? 0 : ball + 4 * (int64_t{i} / 512 % 5 - 2) - paddle;
    const auto action = ball < 0   ? PaddleAction::kFire
                        : off > 1  ? PaddleAction::kRight
                        : off < -1 ? PaddleAction::kLeft
                                   : PaddleAction::kNoop;
    const auto result = game->step(static_cast<int>(action));
    points += result.reward;
    over = result.terminal;
  }
  EXPECT_GT(points, 168);  // of one wall: 12 columns of 1, 1, 2, 2, 4 and 4
}

TEST(PaddleGame, LooksLikeAnAtariGame) {
  const auto game = make_paddle_game(2);
  Random random(2);
  for (int frame = 0; frame < 3000; ++frame) {
    if (game->step(static_cast<int>(random.below(4))).terminal) game->reset();
    if (frame % 100 != 0) continue;
    const auto screen = game->screen();
    ASSERT_EQ(screen.size(), kScreenBytes);
    std::set<int> grays;
    int black = 0;
    for (std::size_t i = 0; i < screen.size(); i += 3) {
      const double gray = 0.299 * screen[i] + 0.587 * screen[i + 1] + 0.114 * screen[i + 2];
      grays.insert(static_cast<int>(std::lround(gray)));
      black += gray == 0;
    }
    EXPECT_GE(grays.size(), 8U);
    EXPECT_LE(grays.size(), 15U);
    EXPECT_NEAR(black, 0.71 * 210 * 160, 0.04 * 210 * 160);
  }
}

/// Red and green noise, a blue sheet: the hardest for a resize, and the channels are told apart.
std::vector<uint8_t> noise() {
  Random random(1);
  std::vector<uint8_t> screen(kScreenBytes);
  for (std::size_t i = 0; i < screen.size(); ++i) {
    screen[i] = i % 3 == 2 ? 200 : static_cast<uint8_t>(random.below(2) * 255);
  }
  return screen;
}

TEST(Preprocess, IsLibTorchsBilinearResizeThenLuminance) {
  std::vector<uint8_t> screen = noise();
  std::array<uint8_t, kFrameBytes> frame;
  preprocess(screen, frame);

  const at::Tensor rgb = at::from_blob(screen.data(), {210, 160, 3}, at::kByte);
  const at::Tensor channels = rgb.permute({2, 0, 1}).unsqueeze(0).to(at::kDouble);
  const at::Tensor resized = at::upsample_bilinear2d(channels, {110, 84}, false)[0];
  const at::Tensor gray = 0.299 * resized[0] + 0.587 * resized[1] + 0.114 * resized[2];
  const at::Tensor expected = gray.narrow(0, 26, 84).round();
  const at::Tensor found = at::from_blob(frame.data(), {84, 84}, at::kByte).to(at::kDouble);
  EXPECT_LE((found - expected).abs().max().item<double>(), 1);
  EXPECT_LT((found - expected).abs().mean().item<double>(), 0.2);
}

TEST(Preprocess, KeepsBlackAndWhite) {
  std::array<uint8_t, kFrameBytes> frame;
  for (const int shade : {0, 1, 127, 255}) {
    preprocess(std::vector<uint8_t>(kScreenBytes, static_cast<uint8_t>(shade)), frame);
    EXPECT_EQ(std::set<int>(frame.begin(), frame.end()), std::set<int>{shade});
  }
}

TEST(Environment, IsBuiltInWithoutARom) {
  EXPECT_EQ(make_environment({}, 1)->action_count(), 4);
  EXPECT_EQ(make_environment({}, 1)->name(), "paddle game (built in)");
}

/// The message of the DataError that `rom` ends with.
std::string failure(const std::filesystem::path& rom) {
  return tests::failure([&] { make_ale(rom, 1); });
}

DataSource source_of(const std::filesystem::path& rom) {
  DataSource source;
  source.rom = rom;
  return source;
}

bool built_without_ale() {
  return failure("/nonexistent.bin").find("-DFATHOM_ALE=ON") != std::string::npos;
}

TEST(Ale, SaysHowToBuildItWhereItIsAbsent) {
  if (!built_without_ale()) GTEST_SKIP() << "built with ALE";
  EXPECT_EQ(failure("pong.bin").rfind("pong.bin: ", 0), 0U);
  EXPECT_THROW(make_environment(source_of("pong.bin"), 1), DataError);
}

TEST(Ale, NamesWhatIsWrongWithARom) {
  if (built_without_ale()) GTEST_SKIP() << failure("game.bin");
  const tests::TemporaryFolder folder;
  const auto says = [](const std::filesystem::path& rom, const std::string& part) {
    const std::string message = failure(rom);
    EXPECT_EQ(message.rfind(rom.string() + ": ", 0), 0U) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  says(folder.path() / "none.bin", "does not exist");
  says(folder.path(), "is not a regular file");
  says(folder.write("empty.bin", ""), "found 0 bytes with MD5 d41d8cd98f00b204e9800998ecf8427e");
  says(folder.write("cut.bin", "abc"), "found 3 bytes with MD5 900150983cd24fb0d6963f7d28e17f72");
  says(folder.write("zeros.bin", std::string(4096, '\0')), "found 4096 bytes with MD5 620f0b67");
  says(folder.write("huge.bin", std::string(1 << 20, 'x')), "has 1048576 bytes");
  // The name of a game with other bytes in it.
  says(folder.write("breakout.bin", std::string(2048, 'x')), "is no ROM that ALE knows");
}

TEST(Ale, IsDecidedBySeedAndActions) {
  if (built_without_ale()) GTEST_SKIP() << failure("game.bin");
  const char* rom = std::getenv("FATHOM_TEST_ROM");
  if (rom == nullptr) GTEST_SKIP() << "FATHOM_TEST_ROM=FILE names no ROM to play";
  const auto played = [&](uint64_t seed, uint64_t agent) {
    return history(*make_environment(source_of(rom), seed), 500, agent);
  };
  EXPECT_EQ(played(1, 1), played(1, 1));
  EXPECT_NE(played(1, 1), played(1, 2));
  const auto game = make_environment(source_of(rom), 1);
  EXPECT_EQ(game->screen().size(), kScreenBytes);
  EXPECT_GT(game->action_count(), 2);
  EXPECT_NE(game->name().find("(ALE "), std::string::npos);
}

}  // namespace
}  // namespace fathom::fixtures
