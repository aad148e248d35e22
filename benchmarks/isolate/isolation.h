#pragma once

#include <functional>
#include <string>
#include <vector>

#include "benchmarks/google_benchmark.h"
#include "benchmarks/isolate/scratch_folder.h"
#include "benchmarks/options/options.h"
#include "benchmarks/output/context.h"
#include "benchmarks/rows/rows.h"

namespace fathom::benchmarks {

/// What a row's own process left.
struct IsolatedRow {
  std::vector<benchmark::BenchmarkReporter::Run> runs;  ///< a failed one among them says why
  std::string samples;                                  ///< lines of --fathom_samples
};

/// Runs rows in processes of their own (--fathom_isolate): what crashes, hangs or eats memory there
/// is the failure of one row.
class Isolation {
 public:
  /// `peaks` are told to the children. Throws std::runtime_error where there is no room for their
  /// files.
  Isolation(const Options& options, const ContextEntries& peaks);

  /// `family` numbers the row; `tick` is called once a second, `warn` with each line that the
  /// child has for the user.
  IsolatedRow run(const Row& row, int64_t family, const std::function<void()>& tick,
                  const std::function<void(const std::string& line)>& warn) const;

 private:
  std::vector<std::string> arguments(const Row& row) const;

  const Options& options_;
  ScratchFolder folder_;
  bool knows_peaks_;
};

}  // namespace fathom::benchmarks
