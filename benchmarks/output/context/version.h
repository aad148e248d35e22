#pragma once

#include <string>

namespace fathom::benchmarks {

/// The text of --version: a line each for the program, its commit and the libraries that it runs.
std::string version_text();

}  // namespace fathom::benchmarks
