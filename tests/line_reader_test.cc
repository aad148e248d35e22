#include "fixtures/line_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/messages.h"
#include "tests/temporary_folder.h"

namespace fathom::fixtures {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using tests::failure;
using Texts = std::vector<std::string>;

class Lines : public testing::Test {
 protected:
  fs::path write(const std::string& text) const { return folder.write("a.txt", text); }

  Texts read(const std::string& text) const {
    LineReader reader(write(text));
    Texts texts;
    while (const auto line = reader.next()) {
      EXPECT_EQ(line->bytes, line->text.size());
      texts.emplace_back(line->text);
    }
    EXPECT_FALSE(reader.next());
    EXPECT_EQ(reader.number(), std::ssize(texts));
    EXPECT_EQ(reader.count([](int64_t) {}), std::ssize(texts));
    return texts;
  }

  /// As counted after `first` lines were read.
  int64_t count(const std::string& text, int first) const {
    LineReader reader(write(text));
    for (int i = 0; i < first; ++i) EXPECT_TRUE(reader.next());
    return reader.count([](int64_t) {});
  }

  tests::TemporaryFolder folder;
};

TEST_F(Lines, EndAtLineFeeds) {
  EXPECT_EQ(read(""), Texts{});
  EXPECT_EQ(read("\n"), Texts{""});
  EXPECT_EQ(read("a"), Texts{"a"});
  EXPECT_EQ(read("a\n"), Texts{"a"});
  EXPECT_EQ(read("a\n\n b \n"), (Texts{"a", "", " b "}));
  EXPECT_EQ(read("\n\na"), (Texts{"", "", "a"}));
}

TEST_F(Lines, LoseOneCarriageReturn) {
  EXPECT_EQ(read("a\r\nb\r\r\n\r\nc\r"), (Texts{"a", "b\r", "", "c"}));
  EXPECT_EQ(read("a\rb\n"), (Texts{"a\rb"}));
}

TEST_F(Lines, EndAtNothingElse) {
  const std::string text =
      "a\vb\fc\xC2\x85"
      "d\xE2\x80\xA8"
      "e\xE2\x80\xA9"
      "f\x1C"
      "g\0h\xFF\xC3"s;
  EXPECT_EQ(read(text + "\n" + text), (Texts{text, text}));
}

TEST_F(Lines, LoseTheByteOrderMarkOfTheFileOnly) {
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a\n\xEF\xBB\xBF"
                 "b\n"),
            (Texts{"a",
                   "\xEF\xBB\xBF"
                   "b"}));
  EXPECT_EQ(read("\xEF\xBB\xBF"), Texts{});
  EXPECT_EQ(read("\xEF\xBB\xBF\n"), Texts{""});
  EXPECT_EQ(read("\xEF\xBB"), Texts{"\xEF\xBB"});
  EXPECT_EQ(read("\xEF\xBB\na"), (Texts{"\xEF\xBB", "a"}));
}

TEST_F(Lines, OfTheGreatestLengthAreRead) {
  const std::string longest(kLongestLine, 'x');
  EXPECT_EQ(read("a\n" + longest + "\r\n" + longest + "\nb\n" + longest),
            (Texts{"a", longest, longest, "b", longest}));
}

TEST_F(Lines, ThatAreLongerAreMeasured) {
  for (const std::size_t size : {kLongestLine + 1, kLongestLine + 2, 3 * kLongestLine}) {
    for (const char* end : {"", "\n", "\nb"}) {
      LineReader reader(write("a\n" + std::string(size, 'x') + end));
      EXPECT_EQ(reader.next()->text, "a");
      const auto line = reader.next();
      ASSERT_TRUE(line);
      EXPECT_EQ(line->bytes, size);
      EXPECT_EQ(line->text, "");
      EXPECT_EQ(reader.number(), 2);
      const auto last = reader.next();
      EXPECT_EQ(last.has_value(), end == "\nb"s);
      EXPECT_EQ(reader.count([](int64_t) {}), last ? 3 : 2);
    }
  }
}

TEST_F(Lines, AreCounted) {
  for (int first = 0; first < 4; ++first) {
    EXPECT_EQ(count("a\nb\nc\n", std::min(first, 3)), 3);
    EXPECT_EQ(count("a\n\nc\nd", first), 4);
    EXPECT_EQ(count("\n\n\n\n\n", first), 5);
  }
  EXPECT_EQ(count("", 0), 0);
  std::string text;
  for (int i = 0; i < 300'000; ++i)
    text += std::string(static_cast<std::size_t>(i % 20), 'x') + '\n';
  EXPECT_EQ(count(text, 0), 300'000);
  EXPECT_EQ(count(text + "x", 1000), 300'001);
  EXPECT_EQ(count(std::string(3 * kLongestLine, 'x') + "\n\n", 0), 2);
}

TEST_F(Lines, AreReportedWhileTheyAreCounted) {
  const auto path = write("a\n");
  fs::resize_file(path, 150 << 20);  // has a hole
  LineReader reader(path);
  std::vector<int64_t> heard;
  EXPECT_EQ(reader.count([&](int64_t lines) { heard.push_back(lines); }), 2);
  EXPECT_EQ(heard, (std::vector<int64_t>{1, 1}));
}

TEST_F(Lines, OfNoFileAreRefused) {
  const auto open = [](const fs::path& path) { return failure([&] { LineReader reader(path); }); };
  const fs::path path = folder.path() / "b";
  EXPECT_EQ(open(path), path.string() + ": does not exist");
  EXPECT_EQ(open(folder.path()), folder.path().string() + ": is not a regular file");
  fs::create_symlink(path, path);
  EXPECT_EQ(open(path), path.string() + ": Too many levels of symbolic links");
  // A regular file that nobody can read from its start.
  EXPECT_EQ(open("/proc/self/mem"), "/proc/self/mem: cannot be read (Input/output error)");
}

}  // namespace
}  // namespace fathom::fixtures
