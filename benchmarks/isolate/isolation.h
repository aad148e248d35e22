#pragma once

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/isolate/scratch_folder.h"
#include "benchmarks/measure/row_result.h"
#include "benchmarks/options/options.h"
#include "benchmarks/output/context/context.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// Whether the row runs in its own process: with --fathom_isolate every row, without it one whose
/// task changes the process, and with --fathom_isolate=false none.
bool is_isolated(const Options& options, const Row& row);

/// Throws UsageError where isolated rows would be missing in a file that Google Benchmark writes,
/// and where --fathom_isolate=false would run a row whose task changes the process before or after
/// other rows.
void check_isolation(const Options& options, const std::vector<Row>& rows);

/// Runs each row in its own process (--fathom_isolate): a crash, a hang or lack of memory fails
/// only that row.
class Isolation {
 public:
  /// Passes `peaks` to the children, which then measure none. Throws std::runtime_error where their
  /// folder cannot be made.
  Isolation(const Options& options, const ContextEntries& peaks);

  /// Runs a child and returns its results, or a failure with its reason. `family` is the index of
  /// the row; `tick` is called once a second, `warn` with each message that the child printed.
  RowResult run(const Row& row, int64_t family, const std::function<void()>& tick,
                const std::function<void(const std::string& line)>& warn) const;

 private:
  std::vector<std::string> arguments(const Row& row) const;

  const Options& options_;
  ScratchFolder folder_;
  bool knows_peaks_;
};

}  // namespace fathom::benchmarks
