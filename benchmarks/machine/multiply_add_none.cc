// CMake chooses this file for other processors than x86: their peak is that of the best GEMM.
#include "benchmarks/machine/multiply_add.h"

namespace fathom::benchmarks {

MultiplyAdd widest_multiply_add(fixtures::Precision /*precision*/) { return {"", 0, nullptr}; }

}  // namespace fathom::benchmarks
