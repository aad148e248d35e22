#pragma once

#include <c10/core/Event.h>

#include <optional>

#include "fixtures/machine/device.h"

namespace fathom::benchmarks {

/// Sums the time between begin() and end() on the GPU's current stream, measured with events. Does
/// nothing for the CPU.
class GpuTime {
 public:
  explicit GpuTime(fixtures::Device device);

  void begin() {
    if (events_) events_->begin.record(events_->stream);
  }
  void end() {
    if (events_) events_->end.record(events_->stream);
  }
  /// Waits until the stream has reached end(). Work of other streams goes on.
  void wait() {
    if (events_) events_->end.synchronize();
  }
  /// Adds the last pair, after wait().
  void add() {
    if (events_) seconds_ += events_->begin.elapsedTime(events_->end) * 1e-3;
  }

  /// No value for the CPU.
  std::optional<double> seconds() const;

 private:
  struct Events {
    explicit Events(c10::Stream on);

    c10::Stream stream;
    c10::Event begin;
    c10::Event end;
  };

  std::optional<Events> events_;
  double seconds_ = 0;
};

}  // namespace fathom::benchmarks
