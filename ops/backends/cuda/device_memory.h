#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "ops/core/problem.h"

namespace fathom::ops::cuda {

/// Throws OutOfMemory or, for other errors, std::runtime_error with CUDA's message. Clears the
/// error, which the next check of a kernel's launch would report again.
void check(cudaError_t status);

/// Memory of the current device.
using Memory = std::shared_ptr<void>;

/// Memory on the current device; null for 0 bytes. Where it does not suffice, frees what LibTorch
/// caches and tries again. Throws OutOfMemory.
Memory allocate(std::size_t bytes);

/// Scratch memory for a library. Kernels share it, because they run one after the other.
Memory workspace(std::size_t bytes);

std::size_t element_bytes(Element element);
std::size_t bytes(const Buffer& buffer);

/// Throws NotSupported where `buffer` is not contiguous, for calls that take only a pointer.
void expect_contiguous(const Buffer& buffer);

/// Rows of a matrix, or elements of a vector.
struct Rows {
  void* data;
  std::size_t stride, bytes, count;
};

/// Part `index` of `parts` equal parts of the first axis.
Rows part(const Buffer& buffer, int index, int parts);

void copy(const Rows& to, const Rows& from, cudaStream_t stream);

// Copy the elements of a contiguous buffer to or from the host, and wait for the stream.
std::vector<float> read(const Buffer& buffer, cudaStream_t stream);
void write(const std::vector<float>& values, const Buffer& buffer, cudaStream_t stream);

struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};

using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

Event event(unsigned flags = cudaEventDefault);

/// The shortest time of a few runs after a warm-up, in milliseconds.
float best_milliseconds(cudaStream_t stream, const std::function<void()>& run);

}  // namespace fathom::ops::cuda
