#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fathom::benchmarks {

/// What is known of one step; what is not known is left out.
struct Figures {
  std::optional<double> items;
  std::optional<double> flops;
  std::optional<double> bytes;                           ///< least traffic
  double working_set = 0;                                ///< bytes of memory that it touches
  std::vector<std::pair<std::string, double>> counters;  ///< further ones, by their JSON name
  std::string label;
};

/// The work of a benchmark row: built once, then run any number of times.
class Task {
 public:
  virtual ~Task() = default;
  /// One step. May return before the device has finished.
  virtual void run() = 0;
  /// A warm-up step, which may be watched as it runs.
  virtual void rehearse() { run(); }
  /// The intra-op thread count is now another one; called before the first step, too.
  virtual void threads_changed() {}
  /// After the first step: throws std::runtime_error with what was found and expected.
  virtual void check() = 0;
  /// After the last step, however many there were: throws where the result is no longer finite.
  virtual void check_finite() = 0;
  virtual Figures figures() const = 0;
};

}  // namespace fathom::benchmarks
