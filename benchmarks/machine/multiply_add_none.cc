// Chosen by CMake for processors without a loop of their own: their peak is the best GEMM's.
#include "benchmarks/machine/multiply_add.h"

namespace fathom::benchmarks {

MultiplyAdd widest_multiply_add(fixtures::Precision /*precision*/) { return {"", 0, nullptr}; }

}  // namespace fathom::benchmarks
