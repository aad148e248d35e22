#pragma once

#include <functional>
#include <string>

#include "benchmarks/options/options.h"

namespace fathom::benchmarks {

/// Throws UsageError where the program would write a file that it reads, or write two into one.
void refuse_shared_files(const Options& options);

/// Calls `open` for the file `path` of an option, as typed. Throws UsageError with the reason where
/// the path cannot be written; on a full disk, std::system_error.
void open_output(const std::string& option, const std::string& path,
                 const std::function<void()>& open);

}  // namespace fathom::benchmarks
