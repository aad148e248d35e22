#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>

namespace fathom::benchmarks {

/// A status line on stderr while it is a terminal: which row of how many, what it does, elapsed and
/// estimated time.
class Progress {
 public:
  Progress();

  /// `expected` holds seconds by row; only their ratios count.
  void start(std::map<std::string, double> expected);
  /// Prints the number of rows and the estimated time, even where stderr is no terminal.
  void announce();
  void show(const std::string& row, const std::string& stage);
  /// Another stage of the row that was shown last.
  void stage(const std::string& stage) { show(row_, stage); }
  /// The row has its result; wipes the line before others print.
  void finished(const std::string& row);
  /// For work before the first row.
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
