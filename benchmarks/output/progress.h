#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

namespace fathom::benchmarks {

/// A status line on stderr, where that is a terminal: number and stage of the row, elapsed and
/// estimated remaining time.
class Progress {
 public:
  Progress();

  /// `expected` are estimated seconds by row; only their ratios matter.
  void start(std::map<std::string, double> expected);
  /// Prints the number of rows and the estimated time, on a terminal or not.
  void announce();
  void show(const std::string& row, const std::string& stage);
  /// Shows another stage of the last row.
  void stage(const std::string& stage) { show(row_, stage); }
  /// Counts a row as done. Wipes the line, so that its result can be printed.
  void finished(const std::string& row);
  /// Shows what is done before the first row.
  void note(const std::string& what);
  void wipe();

 private:
  void draw(const std::string& line);

  bool terminal_;
  bool drawn_ = false;
  std::map<std::string, double> expected_;
  std::string row_;
  std::set<std::string> done_;
  double total_seconds_ = 0;  ///< expected
  double done_seconds_ = 0;   ///< of finished rows
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace fathom::benchmarks
