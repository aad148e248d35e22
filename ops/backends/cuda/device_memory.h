#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "ops/core/problem.h"

namespace fathom::ops::cuda {

/// Throws std::runtime_error with CUDA's words.
void check(cudaError_t status);

/// Memory of the current device.
using Memory = std::shared_ptr<void>;

/// Null for no bytes.
Memory allocate(std::size_t bytes);

/// Memory for a library to scribble on. Kernels share it: they run one after the other.
Memory workspace(std::size_t bytes);

std::size_t element_bytes(Element element);
std::size_t bytes(const Buffer& buffer);

/// Throws where a library is given a pointer only, and strides do not follow from extents.
void expect_contiguous(const Buffer& buffer);

/// Rows of a matrix, or elements of a vector.
struct Rows {
  void* data;
  std::size_t stride, bytes, count;
};

/// One of equal parts of the first axis.
Rows part(const Buffer& buffer, int index, int parts);

void copy(const Rows& to, const Rows& from, cudaStream_t stream);

// Elements of a contiguous buffer on the host. They wait for the stream.
std::vector<float> read(const Buffer& buffer, cudaStream_t stream);
void write(const std::vector<float>& values, const Buffer& buffer, cudaStream_t stream);

/// The shortest of a few runs after a first one, in milliseconds.
float best_milliseconds(cudaStream_t stream, const std::function<void()>& run);

}  // namespace fathom::ops::cuda
