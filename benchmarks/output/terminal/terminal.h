#pragma once

#include <cstddef>

namespace fathom::benchmarks {

/// The width of the terminal that a file descriptor writes to; `fallback` where it is unknown.
std::size_t terminal_columns(int descriptor, std::size_t fallback);

}  // namespace fathom::benchmarks
