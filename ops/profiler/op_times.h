#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ops/profiler/observe.h"
#include "ops/profiler/profile.h"

namespace fathom::ops {

/// Counts and times of op types, by the names of events.
class OpTimes {
 public:
  struct Op {
    const OpType* type;  ///< null for a LibTorch op that belongs to no type
    OpTime* time;        ///< null for one with the name of a type that it only calls
  };

  /// Counts the op that begins and returns it; null for what only contains ops.
  const Op* enter(const Event& event);

  /// The profile of the ops of work that took `seconds`.
  Profile profile(double seconds) const;

 private:
  const Op& known(std::string_view name);

  std::map<std::string, Op, std::less<>> ops_;
  std::map<std::string, OpTime> times_;
  int64_t last_owner_ = -1;  ///< the scope of the last node that has one
};

}  // namespace fathom::ops
