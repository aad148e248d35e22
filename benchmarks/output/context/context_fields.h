#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fathom::benchmarks {

/// What an entry of the context says, which decides who compares it.
enum class ContextField {
  kMachine,      ///< which machine it is: files of one machine agree in it
  kSetting,      ///< a setting or version that changes times while the code stays the same
  kRun,          ///< which build and which rows: only --fathom_resume compares it
  kDescription,  ///< nobody compares it
};

/// The kind of an entry. An unknown one, as of --benchmark_context, is a description.
ContextField context_field(std::string_view key);

/// Whether the table has the entry.
bool is_context_field(std::string_view key);

/// The entries of a kind, whether this run has them or not.
std::vector<std::string_view> context_fields(ContextField field);

/// The same, separated by spaces, for the programs in results/: `machine_identity`, `settings`.
std::string context_field_list(ContextField field);

}  // namespace fathom::benchmarks
