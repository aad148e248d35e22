#pragma once

#include <cstdint>
#include <string>

#include "fixtures/machine/precision.h"

namespace fathom::benchmarks {

/// A loop of the CPU's widest multiply-add instruction for operands of a precision.
struct MultiplyAdd {
  std::string name;      ///< the instruction set: avx512f
  double flops_a_round;  ///< FLOPs of run(1)
  /// Runs `rounds` rounds of independent multiply-adds in registers on this thread. Returns a sum
  /// of the results, so that the compiler keeps them.
  float (*run)(int64_t rounds);
};

/// The name is empty and `run` is null where this CPU has no known one.
MultiplyAdd widest_multiply_add(fixtures::Precision precision);

}  // namespace fathom::benchmarks
