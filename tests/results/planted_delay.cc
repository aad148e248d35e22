// A library for LD_PRELOAD that makes an op in one row of fathom_bench slower, like a bad commit:
// FATHOM_PLANT="<prefix of the row's name> <operator with a CPU kernel> <microseconds per call>".
// Processes with another --benchmark_filter=^NAME$ are not changed.

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace {

std::chrono::duration<double, std::micro> delay;
std::optional<c10::SafeKernelFunction> kernel;

/// Replaces the kernel of one operator, so other operators keep their speed.
void delayed(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  kernel->callBoxed(op, keys, stack);
  const auto end = std::chrono::steady_clock::now() + delay;
  while (std::chrono::steady_clock::now() < end) {
  }
}

bool runs(const std::string& row) {
  std::ifstream file("/proc/self/cmdline");
  for (std::string argument; std::getline(file, argument, '\0');) {
    if (argument.rfind("--benchmark_filter=^" + row, 0) == 0) return true;
  }
  return false;
}

[[maybe_unused]] const bool planted = [] {
  const char* plan = std::getenv("FATHOM_PLANT");
  std::string row;
  std::string op;
  double us = 0;
  if (plan == nullptr || !(std::istringstream(plan) >> row >> op >> us) || !runs(row)) return false;
  delay = std::chrono::duration<double, std::micro>(us);
  kernel = c10::Dispatcher::singleton()
               .findSchemaOrThrow(op.c_str(), "")
               .getComputedKernelForDispatchKey(c10::DispatchKey::CPU);
  static torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__,
                                __LINE__);
  library.impl(op.c_str(), torch::CppFunction::makeFromBoxedFunction<&delayed>());
  return true;
}();

}  // namespace
