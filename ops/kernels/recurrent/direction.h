#pragma once

#include <cstdint>

namespace fathom::ops {

/// The direction in which a recurrence visits the frames. kForward starts at the first frame.
enum class Direction { kForward, kBackward };

/// The order in which a recurrence visits `count` frames.
class FrameOrder {
 public:
  FrameOrder(Direction direction, int64_t count)
      : step_(direction == Direction::kForward ? 1 : -1),
        first_(step_ > 0 ? 0 : count - 1),
        last_(count - 1 - first_) {}

  int64_t first() const { return first_; }
  int64_t last() const { return last_; }
  int64_t step() const { return step_; }

 private:
  int64_t step_;
  int64_t first_;
  int64_t last_;
};

}  // namespace fathom::ops
