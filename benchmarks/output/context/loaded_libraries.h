#pragma once

#include <string>

namespace fathom::benchmarks {

/// The build ids of this program and of its own libraries that are loaded, by their linker; else a
/// hash of the file.
std::string program_build_id();

/// "libc.so.6:1f2e3d4c libgomp.so.1:...": the libraries whose code steps run, with the start of the
/// build id that their linkers wrote, or with their sizes.
std::string loaded_libraries();

}  // namespace fathom::benchmarks
