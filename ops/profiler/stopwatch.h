#pragma once

#include <chrono>
#include <vector>

namespace fathom::ops {

/// Measures the self time of nested calls on one thread.
class Stopwatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// A call begins. Its self time is added to `seconds`, or discarded for null.
  void start(double* seconds) { stack_.push_back({.seconds = seconds, .begin = Clock::now()}); }

  /// The innermost open call ends.
  void stop() {
    const auto now = Clock::now();
    const Call call = stack_.back();
    stack_.pop_back();
    const auto whole = now - call.begin;
    if (!stack_.empty()) stack_.back().inner += whole;
    if (call.seconds != nullptr) {
      *call.seconds += std::chrono::duration<double>(whole - call.inner).count();
    }
  }

 private:
  struct Call {
    double* seconds;
    Clock::time_point begin;
    Clock::duration inner{};  ///< time of the calls directly inside
  };

  std::vector<Call> stack_;
};

}  // namespace fathom::ops
