#include "benchmarks/output/context/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "ops/cuda/library.h"

namespace fathom::benchmarks {
namespace {

using Starts = std::span<const std::string_view>;

constexpr std::array<std::string_view, 3> kOpenMp{"GOMP_", "KMP_", "OMP_"};

constexpr std::array<std::string_view, 10> kMalloc{
    "GLIBC_TUNABLES", "HUGETLB_",  "JEMALLOC_", "LD_AUDIT", "LD_PRELOAD",
    "MALLOC_",        "MIMALLOC_", "TCMALLOC_", "THP_",     "_RJEM_"};

constexpr std::array<std::string_view, 13> kCuda{"CUBLAS",
                                                 "CUDA_AUTO_BOOST",
                                                 "CUDA_DEVICE_",
                                                 "CUDA_DISABLE_PTX_JIT",
                                                 "CUDA_FORCE_PTX",
                                                 "CUDA_LAUNCH_BLOCKING",
                                                 "CUDA_MODULE_LOADING",
                                                 "CUDA_MPS_",
                                                 "CUDA_VISIBLE",
                                                 "CUDNN_",
                                                 "NVIDIA_TF32_OVERRIDE",
                                                 "PYTORCH_ALLOC_CONF",
                                                 "PYTORCH_CUDA_"};

constexpr std::array<std::string_view, 20> kLibraries{
    "ATEN_",    "BLIS_", "C10_",   "CPUINFO_", "DNNL_",    "GLOO_",   "GOTO_",
    "LIBXSMM_", "MKL_",  "MKLDNN", "NCCL_",    "NPY_MKL_", "ONEDNN_", "OPENBLAS_",
    "PYTORCH_", "TBB_",  "TORCH_", "UCC_",     "UCX_",     "VECLIB_"};

struct Group {
  const char* key;
  Starts starts;
};

/// A variable belongs to the first group that has its start.
constexpr std::array<Group, 4> kGroups{{{"openmp", kOpenMp},
                                        {"malloc", kMalloc},
                                        {"cuda_environment", kCuda},
                                        {"environment", kLibraries}}};

bool looks_secret(std::string_view name) {
  constexpr std::array<std::string_view, 6> kWords{"AUTH",   "CREDENTIAL", "PASSWORD",
                                                   "PASSWD", "SECRET",     "TOKEN"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

const Group* group_of(std::string_view name) {
  if (looks_secret(name)) return nullptr;
  for (const auto& group : kGroups) {
    if (std::any_of(group.starts.begin(), group.starts.end(),
                    [&](std::string_view start) { return name.starts_with(start); })) {
      return &group;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> environment_groups() {
  std::map<std::string_view, std::set<std::string_view>> found;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (const Group* group = group_of(text.substr(0, text.find('='))))
      found[group->key].insert(text);
  }
  std::vector<std::pair<std::string, std::string>> groups;
  for (const auto& group : kGroups) {
    std::string text;
    for (const auto variable : found[group.key]) text.append(text.empty() ? "" : " ") += variable;
    const bool is_used = group.starts.data() != kCuda.data() || ops::cuda_library() != nullptr;
    groups.emplace_back(group.key, text.empty() && is_used ? "default" : text);
  }
  return groups;
}

}  // namespace fathom::benchmarks
