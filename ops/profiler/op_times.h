#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ops/profiler/profile.h"
#include "ops/profiler/watch.h"

namespace fathom::ops {

/// Op types by the names of events.
class OpTimes {
 public:
  struct Op {
    const OpType* type;  ///< null for an op of LibTorch that none claims
    OpTime* time;
  };

  /// The op that begins, now counted; null for a node that only holds ops.
  const Op* enter(const Event& event);

  /// What was entered, of work that took `seconds`.
  Profile profile(double seconds) const;

 private:
  const Op& known(std::string_view name);

  std::map<std::string, Op, std::less<>> ops_;
  std::map<std::string, OpTime> times_;
  int64_t last_owner_ = -1;  ///< the scope of the last node that has one
};

}  // namespace fathom::ops
