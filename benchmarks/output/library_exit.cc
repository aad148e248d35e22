#include "benchmarks/output/library_exit.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "benchmarks/error.h"
#include "benchmarks/google_benchmark.h"

namespace fathom::benchmarks {
namespace {

/// True while Google Benchmark parses its arguments. For a wrong value it calls exit(), with 1 or,
/// after its help, with 0.
bool parsing_arguments = false;

void replace_exit(int status, void* process) {
  if (*static_cast<pid_t*>(process) != getpid()) return;
  if (status != 1 && !parsing_arguments) return;
  std::cout.flush();
  std::fflush(nullptr);
  if (parsing_arguments)
    std::cerr << "fathom_bench: an argument has a value that Google Benchmark refuses\n";
  std::_Exit(parsing_arguments ? kUsage : kProgramFailed);
}

}  // namespace

void replace_library_exits() {
  static pid_t process = getpid();
  on_exit(replace_exit, &process);
}

void initialize_google_benchmark(int* argc, char** argv) {
  parsing_arguments = true;
  benchmark::Initialize(argc, argv);
  parsing_arguments = false;
}

}  // namespace fathom::benchmarks
