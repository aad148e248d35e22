#pragma once

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/isolate/scratch_folder.h"
#include "benchmarks/measure/row_result.h"
#include "benchmarks/options/options.h"
#include "benchmarks/output/context.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// Throws UsageError for an option that cannot stand beside --fathom_isolate or needs it.
void resolve_isolation(const Options& options);

/// Runs each row in a process of its own (--fathom_isolate): a crash, a hang or want of memory is
/// the failure of that row alone.
class Isolation {
 public:
  /// `peaks` are told to the children. Throws std::runtime_error where there is no room for their
  /// files.
  Isolation(const Options& options, const ContextEntries& peaks);

  /// The result of the child, in which a failure says why. `family` numbers the row; `tick` is
  /// called once a second, `warn` with each line that the child has for the user.
  RowResult run(const Row& row, int64_t family, const std::function<void()>& tick,
                const std::function<void(const std::string& line)>& warn) const;

 private:
  std::vector<std::string> arguments(const Row& row) const;

  const Options& options_;
  ScratchFolder folder_;
  bool knows_peaks_;
};

}  // namespace fathom::benchmarks
