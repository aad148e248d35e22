#pragma once

namespace fathom::benchmarks {

/// From now on, exit(1) in a library ends this process with kProgramFailed: OpenMP calls it where
/// it gets no thread. A fork of this process keeps its status.
void replace_library_exits();

/// benchmark::Initialize(), but a value that it refuses ends the process with kUsage, and so does
/// its help.
void initialize_google_benchmark(int* argc, char** argv);

}  // namespace fathom::benchmarks
