#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <array>
#include <functional>
#include <memory>
#include <string_view>

namespace fathom::ops {

/// What memory is for, after TBD (Zhu et al., IISWC 2018, section 3.4), whose workspace is split
/// by whether it outlives the op that asked for it.
enum class MemoryClass {
  kWeights,      ///< parameters and buffers
  kGradients,    ///< of the parameters
  kOptimizer,    ///< its state
  kFeatures,     ///< maps that the forward pass keeps for the backward pass
  kInputs,       ///< batches
  kTemporaries,  ///< results that ops hand to each other, gradients of feature maps among them
  kWorkspace,    ///< freed before the op that asked for it returns
};

inline constexpr std::array<std::string_view, 7> kMemoryClassNames{
    "weights", "gradients", "optimizer", "features", "inputs", "temporaries", "workspace"};

template <typename Value>
using ByMemoryClass = std::array<Value, kMemoryClassNames.size()>;

/// Bytes that LibTorch's allocator had handed out.
struct MemoryUse {
  ByMemoryClass<double> most;     ///< each class when it was largest
  ByMemoryClass<double> at_peak;  ///< all when their sum was
  double peak;                    ///< that sum
};

/// Hears of every allocation on a device while it is alive: those of this thread and of autograd's.
/// What libraries take without LibTorch's allocator is not seen.
class MemoryLog {
 public:
  explicit MemoryLog(at::Device device);
  ~MemoryLog();
  MemoryLog(const MemoryLog&) = delete;
  MemoryLog& operator=(const MemoryLog&) = delete;

  /// The memory of `tensor`, all of its storage, is of that class. The first mark stays.
  void mark(const at::Tensor& tensor, MemoryClass what);

  /// Runs `work`, finds its feature maps and workspace, and returns what was in use within it;
  /// allocations that `work` marks count from their beginning.
  MemoryUse watch(const std::function<void()>& work);

 private:
  class Allocations;

  std::shared_ptr<Allocations> allocations_;
  c10::DebugInfoGuard guard_;
};

}  // namespace fathom::ops
