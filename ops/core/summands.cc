#include "ops/core/summands.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "ops/core/check.h"

// RecordFunction::inputs() of a debug build asserts a flag that the release LibTorch never sets.
#ifndef NDEBUG
#error "compile with -DNDEBUG (RelWithDebInfo or Release)"
#endif

namespace fathom::ops {
namespace {

/// Far above the rounding of float64, far below what changes the course of a computation.
constexpr double kShare = 0x1p-30;
constexpr int kTrials = 8;

/// Moves values by kShare of them, up or down at random.
class Disturber {
 public:
  explicit Disturber(uint64_t seed) : state_(seed) {}

  void disturb(const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.layout() != at::kStrided || !tensor.is_cpu() ||
        tensor.scalar_type() != at::kDouble || !tensor.is_non_overlapping_and_dense()) {
      return;
    }
    auto* const values = static_cast<double*>(tensor.mutable_data_ptr());
    for (int64_t i = 0; i < tensor.numel(); ++i) values[i] *= up() ? 1 + kShare : 1 - kShare;
  }

 private:
  /// A bit of SplitMix64.
  bool up() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed >> 63 != 0;
  }

  uint64_t state_;
};

/// Calls `visit` with the tensors of arguments or results.
void each_tensor(const auto& values, const auto& visit) {
  for (const auto& value : values) {
    if (value.isTensor()) visit(value.toTensor());
    if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorList()) visit(tensor);
    }
  }
}

const c10::StorageImpl* storage_of(const at::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl()
                                                  : nullptr;
}

/// The memory of a call's arguments.
struct Arguments final : at::ObserverContext {
  std::set<const c10::StorageImpl*> storages;
};

/// Global, because RecordFunction takes plain function pointers.
thread_local Disturber* disturber = nullptr;

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  auto arguments = std::make_unique<Arguments>();
  each_tensor(function.inputs(),
              [&](const at::Tensor& tensor) { arguments->storages.insert(storage_of(tensor)); });
  return arguments;
}

/// A view of an argument is no result of its own.
void on_end(const at::RecordFunction& function, at::ObserverContext* context) {
  const auto& arguments = static_cast<const Arguments*>(context)->storages;
  const bool writes = std::string_view(function.name()).ends_with('_') ||
                      std::string_view(function.overload_name()).ends_with("out");
  each_tensor(function.outputs(), [&](const at::Tensor& tensor) {
    if (writes || !arguments.contains(storage_of(tensor))) disturber->disturb(tensor);
  });
}

/// The outputs of op.call() over copies of `inputs`, disturbed by `seed`.
Tensors disturbed(const Op& op, const Tensors& inputs, uint64_t seed) {
  Disturber here(seed);
  const Tensors copies = cloned(converted(inputs, at::kDouble, at::kCPU));
  for (const auto& input : copies) here.disturb(input);
  disturber = &here;
  struct Callbacks {
    at::CallbackHandle handle;
    ~Callbacks() {
      at::removeCallback(handle);
      disturber = nullptr;
    }
  } const callbacks{at::addThreadLocalCallback(at::RecordFunctionCallback(on_start, on_end)
                                                   .needsInputs(true)
                                                   .needsOutputs(true)
                                                   .scopes({at::RecordScope::FUNCTION}))};
  return op.call(copies)();
}

bool are_close(const Tensors& a, const Tensors& b) {
  return std::ranges::equal(a, b, [](const at::Tensor& one, const at::Tensor& other) {
    constexpr double kClose = 1e-9;
    return one.sizes() == other.sizes() &&
           at::allclose(one.to(at::kDouble), other.to(at::kDouble), kClose, kClose,
                        /*equal_nan=*/true);
  });
}

/// The largest distances from `exact`, divided by kShare.
Tensors largest_moves(const Op& op, const Tensors& inputs, const Tensors& exact) {
  Tensors sizes;
  for (const auto& output : exact) sizes.push_back(at::zeros_like(output, at::kDouble));
  for (int trial = 0; trial < kTrials; ++trial) {
    const Tensors moved = disturbed(op, inputs, static_cast<uint64_t>(trial));
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const at::Tensor distance = moved[i].to(at::kDouble).sub(exact[i].to(at::kDouble)).abs();
      sizes[i] = at::maximum(sizes[i], distance.div(kShare).nan_to_num(0, 0, 0));
    }
  }
  return sizes;
}

}  // namespace

const Tensors& Summands::sizes() {
  if (sizes_) return *sizes_;
  sizes_.emplace();
  try {
    if (are_close(op_.exact(cloned(inputs_)), exact_)) sizes_ = largest_moves(op_, inputs_, exact_);
  } catch (const c10::Error&) {
    sizes_->clear();  // a user's kernel without float64; an input that is the number of an image
  }
  return *sizes_;
}

}  // namespace fathom::ops
