#include "benchmarks/output/exit_code.h"

#include <new>

#include "fixtures/files/data_error.h"
#include "fixtures/files/text.h"
#include "ops/core/field_reader.h"

namespace fathom::benchmarks {
namespace {

template <typename... Types>
bool is_one_of(const std::exception& error) {
  return (... || (dynamic_cast<const Types*>(&error) != nullptr));
}

}  // namespace

ExitCode exit_code(const std::exception& error) {
  if (is_one_of<UsageError, fixtures::DataError, ops::ShapeError>(error)) return kUsage;
  return is_one_of<RankLost>(error) ? kBenchmarkFailed : kProgramFailed;
}

std::string last_line(const std::exception& error) {
  if (is_one_of<std::bad_alloc>(error)) return "no memory is left (std::bad_alloc)";
  return fixtures::first_line(error.what());  // LibTorch's have a C++ stack after it
}

}  // namespace fathom::benchmarks
