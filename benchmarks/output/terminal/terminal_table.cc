#include "benchmarks/output/terminal/terminal_table.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "benchmarks/measure/disturbed.h"
#include "benchmarks/output/terminal/number_text.h"

namespace fathom::benchmarks {
namespace {

using Run = TerminalTable::Run;

constexpr std::size_t kGap = 2;            // between columns
constexpr std::size_t kMinNameWidth = 26;  // a workload's step, or "  op:" and an op type
constexpr std::size_t kWantedNameWidth = 40;
constexpr std::size_t kTimeWidth = 10;  // with a mark

// The colors of Google Benchmark's console.
constexpr const char* kGreen = "2";
constexpr const char* kYellow = "3";
constexpr const char* kCyan = "6";

/// The parts of "vgg/train/device:cpu/threads:2/op:matmul".
struct NameParts {
  std::string path;                                         ///< "vgg/train"
  std::vector<std::pair<std::string, std::string>> tokens;  ///< {"device", "cpu"}, ...
  std::string op;                                           ///< "op:matmul"; empty: the whole step
};

NameParts split(const std::string& name) {
  NameParts parts;
  std::istringstream text(name);
  for (std::string part; std::getline(text, part, '/');) {
    const auto colon = part.find(':');
    if (colon == std::string::npos) {
      parts.path += (parts.path.empty() ? "" : "/") + part;
    } else if (part.starts_with("op:")) {
      parts.op = part;
    } else {
      parts.tokens.emplace_back(part.substr(0, colon), part.substr(colon + 1));
    }
  }
  return parts;
}

/// The text of a run's name column, with these tokens: an op type stands below its step.
std::string shown_name(const Run& run, const std::set<std::string>& tokens) {
  const NameParts parts = split(run.run_name.function_name);
  std::string text = parts.op.empty() ? parts.path : "  " + parts.op;
  for (const auto& [key, value] : parts.tokens) {
    if (parts.op.empty() && tokens.contains(key))
      text.append("/").append(key).append(":").append(value);
  }
  if (!run.aggregate_name.empty()) text += " " + run.aggregate_name;
  return text;
}

std::string token_value(const Run& run, const std::string& key) {
  for (const auto& [found, value] : split(run.run_name.function_name).tokens) {
    if (found == key) return value;
  }
  return {};
}

bool is_share(const Run& run) {
  return run.run_type == Run::RT_Aggregate && run.aggregate_unit == benchmark::kPercentage;
}

std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f%%", 100 * share);
  return text;
}

/// Wall-clock time of an iteration. For a variation coefficient a share of the mean.
std::string time_cell(const Run& run) {
  if (is_share(run)) return percent_text(run.real_accumulated_time) + ' ';
  return time_text(run.real_accumulated_time /
                   static_cast<double>(std::max<int64_t>(run.iterations, 1))) +
         (is_disturbed(run) ? '*' : ' ');
}

std::string cores_cell(const Run& run) {
  const bool spread = run.aggregate_name == "stddev" || run.aggregate_name == "cv";
  if (spread || !(run.real_accumulated_time > 0)) return {};
  const double cores = run.cpu_accumulated_time / run.real_accumulated_time;
  char text[32];
  std::snprintf(text, sizeof text, cores < 100 ? "%.2f" : "%.0f", cores);
  return text;
}

std::string counter_cell(const Run& run, const char* counter) {
  const auto found = run.counters.find(counter);
  if (found == run.counters.end()) return {};
  return is_share(run) ? percent_text(found->second.value) : number_text(found->second.value);
}

/// `color` is the code of a terminal's foreground color, null for none.
std::string colored(const std::string& text, const char* color) {
  if (color == nullptr || text.empty()) return text;
  return std::string("\033[0;3") + color + "m" + text + "\033[m";
}

/// The words in lines of at most `width` columns; all but the first are indented.
std::string wrapped(const std::vector<std::string>& words, std::size_t width) {
  std::string text;
  std::string line;
  for (const auto& word : words) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      text += line + '\n';
      line = " ";
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return text + line + '\n';
}

/// A long name, cut behind a slash where it can be.
std::vector<std::string> cut(const std::string& name, std::size_t width) {
  std::vector<std::string> parts;
  std::string rest = name;
  while (rest.size() > width) {
    const std::size_t slash = rest.rfind('/', width - 1);
    const bool has_slash = slash != std::string::npos && slash > 2;
    const std::size_t end = has_slash ? slash + 1 : width;
    parts.push_back(rest.substr(0, end));
    rest = "  " + rest.substr(end);
  }
  parts.push_back(rest);
  return parts;
}

bool any(const std::vector<Row>& rows, bool (*has)(const Row&)) {
  return std::any_of(rows.begin(), rows.end(), has);
}

}  // namespace

TerminalTable::TerminalTable(const std::vector<Row>& rows, std::size_t width, bool color)
    : width_(width), color_(color) {
  find_tokens(rows);
  add_columns(rows);
  std::size_t longest = kMinNameWidth;
  for (const auto& row : rows) longest = std::max(longest, split(row.name).path.size());
  const auto room = [this] {
    std::size_t used = 0;
    for (const auto& column : columns_) used += kGap + column.width;
    return used < width_ ? width_ - used : 0;
  };
  if (room() < std::min(longest, kWantedNameWidth)) leave_out_column();
  while (room() < kMinNameWidth && leave_out_column()) {
  }
  name_width_ = std::clamp(room(), kMinNameWidth, longest);
}

bool TerminalTable::leave_out_column() {
  const auto first =
      std::max_element(columns_.begin(), columns_.end(),
                       [](const Column& a, const Column& b) { return a.spare < b.spare; });
  if (first == columns_.end() || first->spare == 0) return false;
  columns_.erase(first);
  return true;
}

void TerminalTable::find_tokens(const std::vector<Row>& rows) {
  std::vector<std::string> keys;  // in the order of the names
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::size_t> counts;
  for (const auto& row : rows) {
    for (const auto& [key, value] : split(row.name).tokens) {
      if (counts[key]++ == 0) keys.push_back(key);
      values[key].insert(value);
    }
  }
  std::vector<Column> columns;
  std::size_t used = kMinNameWidth + kGap + kTimeWidth;
  for (const auto& key : keys) {
    if (values[key].size() == 1) {
      auto& tokens = counts[key] == rows.size() ? in_all_ : in_some_;
      tokens.push_back(key + ':' + *values[key].begin());
      continue;
    }
    std::size_t width = key.size();
    for (const auto& value : values[key]) width = std::max(width, value.size());
    columns.push_back({.above = {},
                       .title = key,
                       .width = width,
                       .color = nullptr,
                       .text = [key](const Run& run) { return token_value(run, key); }});
    used += kGap + width;
  }
  if (used <= width_) {
    columns_ = std::move(columns);
    return;
  }
  for (const auto& column : columns) in_names_.insert(column.title);
}

void TerminalTable::add_columns(const std::vector<Row>& rows) {
  const auto counter = [this](const char* above, const char* title, std::size_t width,
                              const char* name, int spare) {
    columns_.push_back({.above = above,
                        .title = title,
                        .width = width,
                        .color = nullptr,
                        .text = [name](const Run& run) { return counter_cell(run, name); },
                        .spare = spare});
  };
  columns_.push_back(
      {.above = {}, .title = "time ", .width = kTimeWidth, .color = kYellow, .text = time_cell});
  columns_.push_back({.above = "busy",
                      .title = "cores",
                      .width = 5,
                      .color = nullptr,
                      .text = cores_cell,
                      .spare = 3});
  if (any(rows, [](const Row& row) { return !row.op.has_value(); }))
    counter("", "items/s", 7, "items_per_second", /*spare=*/2);
  if (any(rows, [](const Row& row) { return row.rates.flops; })) {
    counter("", "FLOP/s", 6, "flops", /*spare=*/4);
    counter("% peak", "FLOP/s", 6, "flops_pct_peak", /*spare=*/1);
  }
  if (any(rows, [](const Row& row) { return row.rates.bytes; }))
    counter("% peak", "bytes", 6, "bytes_pct_peak", /*spare=*/1);
  if (any(rows, [](const Row& row) { return row.profiling == Profiling::kOpTypes; })) {
    counter("% of", "step", 6, "pct_of_step", /*spare=*/1);
    counter("calls", "/step", 6, "calls_per_step", /*spare=*/5);
  }
  columns_.push_back({.above = {},
                      .title = "iterations",
                      .width = 10,
                      .color = kCyan,
                      .text = [](const Run& run) { return std::to_string(run.iterations); },
                      .spare = 6});
}

std::string TerminalTable::header() const {
  std::vector<std::string> above;
  std::vector<std::string> titles;
  std::size_t total = name_width_;
  for (const auto& column : columns_) {
    above.push_back(column.above);
    titles.push_back(column.title);
    total += kGap + column.width;
  }
  std::vector<std::string> all{"All rows:"};
  all.insert(all.end(), in_all_.begin(), in_all_.end());
  all.emplace_back(kNameSuffix + 1);
  std::string text = wrapped(all, width_);
  std::vector<std::string> some{"All rows that have them:"};
  some.insert(some.end(), in_some_.begin(), in_some_.end());
  if (!in_some_.empty()) text += wrapped(some, width_);
  const std::string rule(total, '-');
  return text + rule + '\n' + line("", above, false) + line("name", titles, false) + rule + '\n';
}

std::string TerminalTable::lines(const std::vector<Run>& runs) const {
  std::string text;
  for (const auto& run : runs) {
    std::vector<std::string> cells;
    for (const auto& column : columns_) cells.push_back(column.text(run));
    std::string name = shown_name(run, in_names_);
    if (name.size() > name_width_) {
      for (const auto& part : cut(name, width_))
        text += colored(part, color_ ? kGreen : nullptr) + '\n';
      name.clear();
    }
    text += line(name, cells, color_);
  }
  return text;
}

std::string TerminalTable::line(const std::string& name, const std::vector<std::string>& cells,
                                bool color) const {
  std::string text = colored(name, color ? kGreen : nullptr);
  text.append(name_width_ - name.size(), ' ');
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t width = std::max(columns_[i].width, cells[i].size());
    text.append(kGap + width - cells[i].size(), ' ');
    text += colored(cells[i], color ? columns_[i].color : nullptr);
  }
  return text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
}

}  // namespace fathom::benchmarks
