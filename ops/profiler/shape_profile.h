#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/core/op_class.h"

namespace fathom::ops {

/// What calls of one type and shape took of watched steps.
struct ShapeTime {
  std::string type;  ///< as in OpTime
  OpClass op_class;
  /// ShapeRow::key() of what one call makes, in order; none where no type matches the call (then
  /// this is all of `type`, as in OpTime).
  std::vector<std::string> keys;
  int64_t count = 0;   ///< calls; a scope's gradients are one
  double seconds = 0;  ///< without the time of other ops inside
};

struct ShapeProfile {
  int64_t steps;  ///< 0 where the steps do not repeat themselves
  double seconds;
  std::vector<ShapeTime> shapes;  ///< together they fill `seconds`: "framework" is between ops
};

/// Runs `step` several times and returns the time of every op shape on this thread, as types know
/// it (match.h). Looking at arguments takes longer than small ops do, so one step is looked at
/// and `steps` further ones are timed, of which those count that run the same ops in the same
/// order. Exceptions of `step` go through.
ShapeProfile shape_profile(const std::function<void()>& step, int64_t steps);

}  // namespace fathom::ops
