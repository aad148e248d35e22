#include "benchmarks/output/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "benchmarks/output/terminal/terminal.h"
#include "fixtures/files/text.h"

namespace fathom::benchmarks {
namespace {

/// 0:07, 12:34 or 1:02:03.
std::string clock_text(double seconds) {
  const long total = std::lround(seconds);
  char text[32];
  if (total >= 3600) {
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", total / 3600, total / 60 % 60, total % 60);
  } else {
    std::snprintf(text, sizeof text, "%ld:%02ld", total / 60, total % 60);
  }
  return text;
}

/// Whether the terminal cannot erase a line.
bool is_dumb() {
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) == "dumb";
}

}  // namespace

Progress::Progress()
    : terminal_(isatty(STDERR_FILENO) == 1 && !is_dumb()),
      begin_(std::chrono::steady_clock::now()) {}

void Progress::show(const std::string& row, const std::string& stage) {
  if (!terminal_) return;
  row_ = row;
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  std::string line = "[" + std::to_string(done_.size() + 1) + "/" +
                     std::to_string(expected_.size()) + "] " + clock_text(elapsed);
  if (done_seconds_ > 0) {
    const double left = elapsed * (total_seconds_ - done_seconds_) / done_seconds_;
    line += ", about " + clock_text(left) + " left";
  }
  draw(line + "  " + stage + " " + row);
}

void Progress::start(std::map<std::string, double> expected) {
  expected_ = std::move(expected);
  for (const auto& [row, seconds] : expected_) total_seconds_ += seconds;
  begin_ = std::chrono::steady_clock::now();
}

void Progress::announce() {
  wipe();
  const long minutes = std::max(1L, std::lround(total_seconds_ / 60));
  std::fprintf(stderr, "fathom_bench: %s, about %s\n",
               fixtures::counted(std::ssize(expected_), "row").c_str(),
               fixtures::counted(minutes, "minute").c_str());
}

void Progress::finished(const std::string& row) {
  if (done_.insert(row).second) done_seconds_ += expected_[row];
  wipe();
}

void Progress::note(const std::string& what) {
  if (terminal_) draw(what);
}

void Progress::wipe() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

void Progress::draw(const std::string& line) {
  std::fprintf(stderr, "\r\033[K%s",
               line.substr(0, terminal_columns(STDERR_FILENO, 80) - 1).c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace fathom::benchmarks
