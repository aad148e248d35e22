#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fathom::benchmarks {

/// The variables of the environment that change times, by the start of their names, in groups:
/// `openmp`, `malloc`, `cuda_environment`, and `environment` for libraries of kernels, LibTorch and
/// communication. Each group is NAME=value in the order of the names, or "default"; that of CUDA is
/// empty without a GPU. Variables whose names look like a secret's are left out.
std::vector<std::pair<std::string, std::string>> environment_groups();

}  // namespace fathom::benchmarks
