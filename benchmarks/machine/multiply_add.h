#pragma once

#include <cstdint>
#include <string>

#include "fixtures/machine/precision.h"

namespace fathom::benchmarks {

/// The widest multiply-add that this CPU has for operands of a precision.
struct MultiplyAdd {
  std::string name;      ///< for example avx512f
  double flops_a_round;  ///< of run(1) on one core
  /// Runs `rounds` of independent multiply-adds that never leave the registers; returns their sum,
  /// so that they stay.
  float (*run)(int64_t rounds);
};

/// An empty name where none is known for this CPU.
MultiplyAdd widest_multiply_add(fixtures::Precision precision);

}  // namespace fathom::benchmarks
