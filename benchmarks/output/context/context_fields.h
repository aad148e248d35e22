#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/options/option.h"

namespace fathom::benchmarks {

/// The kind of an entry. An unknown one, as of --benchmark_context, is a description.
ContextField context_field(std::string_view key);

/// Whether the table has the entry.
bool is_context_field(std::string_view key);

/// The entries of a kind, whether this run has them or not.
std::vector<std::string_view> context_fields(ContextField field);

/// The same, separated by spaces, for the programs in results/: `machine_identity`, `settings`.
std::string context_field_list(ContextField field);

}  // namespace fathom::benchmarks
