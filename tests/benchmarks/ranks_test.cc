#include <gtest/gtest.h>

#include <stdexcept>

#include "benchmarks/ranks/message.h"
#include "benchmarks/ranks/rank_facts.h"
#include "fixtures/ranks/group.h"
#include "tests/benchmarks/parsed_options.h"

namespace fathom::benchmarks {
namespace {

TEST(Message, KeepsACommand) {
  const Command sent{
      .order = Order::kBuild, .number = 7, .row = "memnet/train/\"x\"", .cpus = {0, 2, 3}};
  const Command read = read_command(text(sent));
  EXPECT_EQ(read.order, sent.order);
  EXPECT_EQ(read.number, sent.number);
  EXPECT_EQ(read.row, sent.row);
  EXPECT_EQ(read.cpus, sent.cpus);
}

TEST(Message, KeepsAnAnswer) {
  const Answer read =
      read_answer(text(Answer{.kind = Answer::Kind::kCutOff, .value = 0.1, .error = "a \"b\"\n"}));
  EXPECT_EQ(read.kind, Answer::Kind::kCutOff);
  EXPECT_EQ(read.value, 0.1);
  EXPECT_EQ(read.error, "a \"b\"\n");
}

TEST(Message, FitsWhateverTheErrorSays) {
  const Answer answer{.kind = Answer::Kind::kFailed, .error = std::string(100'000, '\x01')};
  EXPECT_LE(text(answer).size(), fixtures::Group::kMessageBytes);
  EXPECT_NO_THROW(read_answer(text(answer)));
}

TEST(Message, KeepsErrorsThatAreNoText) {
  const Answer answer{.kind = Answer::Kind::kFailed, .error = "\xff\xfe path"};
  EXPECT_NE(read_answer(text(answer)).error.find(" path"), std::string::npos);
}

TEST(FailedAnswer, OfAConnectionIsNotTheCause) {
  const Answer answer = failed_answer(
      std::runtime_error("[../third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed"));
  EXPECT_EQ(answer.kind, Answer::Kind::kCutOff);
  EXPECT_EQ(answer.error, "no connection to another rank: Connection closed");
}

TEST(FailedAnswer, OfAnythingElseIs) {
  const Answer answer = failed_answer(std::runtime_error("out of memory\nat frame 1"));
  EXPECT_EQ(answer.kind, Answer::Kind::kFailed);
  EXPECT_EQ(answer.error, "out of memory");
}

RankFacts facts() { return own_facts(parsed({"--fathom_seed=1"}), {Row{.name = "a"}}); }

TEST(RankFacts, SurviveTheJourney) {
  const RankFacts sent = facts();
  const RankFacts read = read_facts(text(sent));
  EXPECT_EQ(read.host, sent.host);
  EXPECT_EQ(read.cpus, sent.cpus);
  EXPECT_FALSE(read.cpus.empty());
  EXPECT_EQ(difference(sent, read), "");
}

TEST(RankFacts, OfAPathThatIsNoTextAreTheSameOnAllRanks) {
  const RankFacts sent = own_facts(parsed({"--benchmark_out=\xff.json"}), {Row{.name = "a"}});
  EXPECT_EQ(difference(sent, read_facts(text(sent))), "");
}

TEST(Difference, NamesWhatDiffers) {
  RankFacts other = facts();
  other.build = "abc";
  EXPECT_NE(difference(facts(), other).find("runs the build abc, expected"), std::string::npos);
  other = own_facts(parsed({"--fathom_seed=2"}), {Row{.name = "a"}});
  EXPECT_NE(difference(facts(), other).find("got the arguments --fathom_seed=2, expected"),
            std::string::npos);
  other = own_facts(parsed({"--fathom_seed=1"}), {Row{.name = "b"}});
  EXPECT_NE(difference(facts(), other).find("has other rows"), std::string::npos);
}

TEST(Difference, IgnoresHostsAndTheirCpus) {
  RankFacts other = facts();
  other.host = "elsewhere";
  other.machine = "another";
  other.cpus = {90, 91};
  other.cpu = "another model";
  EXPECT_EQ(difference(facts(), other), "");
}

}  // namespace
}  // namespace fathom::benchmarks
