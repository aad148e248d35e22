#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fathom::benchmarks {

using Counters = std::vector<std::pair<std::string, double>>;  ///< by their JSON names

/// What is known of one step; what is not known is left out.
struct Figures {
  std::optional<double> items;
  std::optional<double> flops;
  std::optional<double> bytes;  ///< least traffic
  double working_set = 0;       ///< bytes of memory that it touches
  Counters counters;            ///< further ones
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
  /// Times of a step's phases, the means of `steps` further steps; none where it has one only.
  virtual Counters phases_us(int64_t /*steps*/) { return {}; }
};

}  // namespace fathom::benchmarks
