#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <array>
#include <functional>
#include <memory>
#include <string_view>

namespace fathom::ops {

/// The use of memory, after TBD (Zhu et al., IISWC 2018, section 3.4). TBD's workspace is split:
/// temporaries outlive the op that allocated them, workspace does not.
enum class MemoryClass {
  kWeights,      ///< parameters and buffers
  kGradients,    ///< gradients of the parameters
  kOptimizer,    ///< state of the optimizer
  kFeatures,     ///< feature maps that the forward pass keeps for the backward pass
  kInputs,       ///< batches
  kTemporaries,  ///< results passed between ops, including gradients of feature maps
  kWorkspace,    ///< freed before the op that allocated it returns
};

inline constexpr std::array<std::string_view, 7> kMemoryClassNames{
    "weights", "gradients", "optimizer", "features", "inputs", "temporaries", "workspace"};

template <typename Value>
using ByMemoryClass = std::array<Value, kMemoryClassNames.size()>;

/// Bytes in use from LibTorch's allocator.
struct MemoryUse {
  ByMemoryClass<double> max;      ///< maximum of each class
  ByMemoryClass<double> at_peak;  ///< each class at the peak
  double peak;                    ///< maximum of the sum of all classes
};

/// Records the allocations on a device during its lifetime, by this thread and by autograd's.
/// Memory that libraries take without LibTorch's allocator is not recorded.
class MemoryLog {
 public:
  explicit MemoryLog(at::Device device);
  ~MemoryLog();
  MemoryLog(const MemoryLog&) = delete;
  MemoryLog& operator=(const MemoryLog&) = delete;

  /// Assigns a class to the whole storage of `tensor`. The first mark of a storage stays.
  void mark(const at::Tensor& tensor, MemoryClass what);

  /// Runs `work`, finds its feature maps and workspace, and returns the memory in use during it.
  /// Allocations that `work` marks count from their beginning.
  MemoryUse record(const std::function<void()>& work);

 private:
  class Allocations;

  std::shared_ptr<Allocations> allocations_;
  c10::DebugInfoGuard guard_;
};

}  // namespace fathom::ops
