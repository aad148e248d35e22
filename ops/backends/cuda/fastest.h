#pragma once

#include <exception>
#include <limits>
#include <stdexcept>

#include "ops/core/kernel.h"

namespace fathom::ops::cuda {

/// The fastest of a library's candidates for a problem. Not every candidate runs every problem.
template <typename Choice>
class Fastest {
 public:
  /// Calls `candidate`, which may offer() what it timed, and keeps its error.
  template <typename Candidate>
  void attempt(const Candidate& candidate) {
    try {
      candidate();
    } catch (const NotSupported&) {
      if (refusal_ == nullptr) refusal_ = std::current_exception();
    } catch (const std::runtime_error&) {
      if (error_ == nullptr) error_ = std::current_exception();
    }
  }

  void offer(const Choice& choice, float milliseconds) {
    if (milliseconds >= best_) return;
    best_ = milliseconds;
    choice_ = choice;
  }

  /// Where no candidate ran, throws the first error, or else the first refusal, or else
  /// NotSupported(`none`).
  const Choice& found(const char* none) const {
    if (best_ < kNoTime) return choice_;
    if (error_ != nullptr) std::rethrow_exception(error_);
    if (refusal_ != nullptr) std::rethrow_exception(refusal_);
    throw NotSupported(none);
  }

 private:
  static constexpr float kNoTime = std::numeric_limits<float>::infinity();

  float best_ = kNoTime;
  Choice choice_{};
  std::exception_ptr error_;
  std::exception_ptr refusal_;
};

}  // namespace fathom::ops::cuda
