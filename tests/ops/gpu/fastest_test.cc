#include "ops/backends/cuda/fastest.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace fathom::ops::cuda {
namespace {

/// What found() throws.
std::string thrown(const Fastest<int>& fastest) {
  try {
    fastest.found("nothing was offered");
  } catch (const NotSupported& error) {
    return std::string("refused: ") + error.what();
  } catch (const std::runtime_error& error) {
    return std::string("failed: ") + error.what();
  }
  return {};
}

void refuse(Fastest<int>& fastest, const char* why) {
  fastest.attempt([&] { throw NotSupported(why); });
}

void fail(Fastest<int>& fastest, const char* why) {
  fastest.attempt([&] { throw std::runtime_error(why); });
}

TEST(Fastest, IsTheShortestOfWhatRuns) {
  Fastest<int> fastest;
  refuse(fastest, "no layout");
  for (const int one : {3, 1, 2}) {
    fastest.attempt([&] { fastest.offer(one, static_cast<float>(one)); });
  }
  fail(fastest, "misaligned");
  EXPECT_EQ(fastest.found(""), 1);
}

TEST(Fastest, RefusesWithTheFirstReason) {
  Fastest<int> fastest;
  EXPECT_EQ(thrown(fastest), "refused: nothing was offered");
  refuse(fastest, "no layout");
  refuse(fastest, "no type");
  EXPECT_EQ(thrown(fastest), "refused: no layout");
}

TEST(Fastest, ThrowsAnErrorBeforeARefusal) {
  Fastest<int> fastest;
  refuse(fastest, "no layout");
  fail(fastest, "misaligned");
  fail(fastest, "later");
  EXPECT_EQ(thrown(fastest), "failed: misaligned");
}

}  // namespace
}  // namespace fathom::ops::cuda
