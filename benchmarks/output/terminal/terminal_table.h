#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// Results for a terminal of `width` columns, at least 80. Tokens of the names that are the same in
/// all rows are printed once, above the table; the other tokens have columns of their own, or stay
/// in the names where these would not fit. Columns for which there is no room are left out. A mark
/// behind the time says that the row is disturbed.
class TerminalTable {
 public:
  using Run = benchmark::BenchmarkReporter::Run;

  /// `rows` are all rows that may come.
  TerminalTable(const std::vector<Row>& rows, std::size_t width, bool color);

  std::string header() const;
  /// A line for each run, or more where its name is longer than the column.
  std::string lines(const std::vector<Run>& runs) const;

  /// Two lines for the end of a table with marks.
  static constexpr const char* kMarkMeans =
      "* disturbed: others took over 5 % of the time, or time from half of the steps.\n"
      "  Files hold how much (stolen_us, waiting_us, standstill_us, disturbed_steps).\n";

 private:
  struct Column {
    std::string above;  ///< first line of the title
    std::string title;
    std::size_t width;
    const char* color;  ///< code of a terminal's foreground color; null: the default
    std::function<std::string(const Run&)> text;
    int spare = 0;  ///< the order in which columns are left out, the largest first; 0: never
  };

  void find_tokens(const std::vector<Row>& rows);
  void add_columns(const std::vector<Row>& rows);
  bool leave_out_column();
  std::string line(const std::string& name, const std::vector<std::string>& cells,
                   bool color) const;

  std::size_t width_;
  bool color_;
  std::vector<std::string> in_all_;   ///< tokens of all rows, as "device:cpu"
  std::vector<std::string> in_some_;  ///< tokens with one value that some rows lack
  std::set<std::string> in_names_;    ///< keys of tokens that stay in the names, for lack of room
  std::size_t name_width_;
  std::vector<Column> columns_;
};

}  // namespace fathom::benchmarks
