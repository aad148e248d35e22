#include "ops/backends/cuda/device_memory.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "ops/core/kernel.h"
#include "ops/cuda/cached_memory.h"

namespace fathom::ops::cuda {
namespace {

constexpr int kTries = 5;

std::size_t count(const Buffer& buffer) {
  std::size_t elements = 1;
  for (const int64_t size : buffer.sizes) elements *= static_cast<std::size_t>(size);
  return elements;
}

}  // namespace

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  const std::string message = std::string("CUDA: ") + cudaGetErrorString(status);
  if (status == cudaErrorMemoryAllocation) throw OutOfMemory(message);
  throw std::runtime_error(message);
}

Memory allocate(std::size_t bytes) {
  void* data = nullptr;
  if (bytes > 0 && cudaMalloc(&data, bytes) != cudaSuccess) {
    cudaGetLastError();  // clears the error
    release_cached_memory();
    check(cudaMalloc(&data, bytes));
  }
  return {data, cudaFree};
}

Memory workspace(std::size_t bytes) {
  static std::weak_ptr<void> last;
  static std::size_t last_bytes = 0;
  Memory found = last.lock();
  if (found != nullptr && bytes <= last_bytes) return found;
  found = allocate(bytes);
  last = found;
  last_bytes = bytes;
  return found;
}

std::size_t element_bytes(Element element) {
  switch (element) {
    case Element::kFp32:
    case Element::kS32:
      return 4;
    case Element::kFp64:
      return 8;
    case Element::kBf16:
    case Element::kFp16:
      return 2;
    case Element::kU8:
    case Element::kS8:
    case Element::kE4m3:
      return 1;
  }
  return 0;
}

std::size_t bytes(const Buffer& buffer) { return count(buffer) * element_bytes(buffer.element); }

void expect_contiguous(const Buffer& buffer) {
  int64_t stride = 1;
  for (std::size_t axis = buffer.sizes.size(); axis-- > 0;) {
    if (buffer.sizes[axis] != 1 && buffer.strides[axis] != stride)
      throw NotSupported("the library takes contiguous tensors only");
    stride *= buffer.sizes[axis];
  }
}

Rows part(const Buffer& buffer, int index, int parts) {
  const std::size_t item = element_bytes(buffer.element);
  const std::size_t columns =
      buffer.sizes.size() > 1 ? static_cast<std::size_t>(buffer.sizes[1]) : 1;
  const auto stride = static_cast<std::size_t>(buffer.strides[0]) * item;
  const auto rows = static_cast<std::size_t>(buffer.sizes[0] / parts);
  return {.data = static_cast<char*>(buffer.data) + static_cast<std::size_t>(index) * rows * stride,
          .stride = stride,
          .bytes = columns * item,
          .count = rows};
}

void copy(const Rows& to, const Rows& from, cudaStream_t stream) {
  check(cudaMemcpy2DAsync(to.data, to.stride, from.data, from.stride, from.bytes, from.count,
                          cudaMemcpyDeviceToDevice, stream));
}

std::vector<float> read(const Buffer& buffer, cudaStream_t stream) {
  expect_contiguous(buffer);
  std::vector<float> values(count(buffer));
  const auto copy = [&](void* to) {
    check(cudaMemcpyAsync(to, buffer.data, bytes(buffer), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
  };
  if (buffer.element == Element::kBf16) {
    std::vector<__nv_bfloat16> rounded(values.size());
    copy(rounded.data());
    std::transform(rounded.begin(), rounded.end(), values.begin(), __bfloat162float);
  } else if (buffer.element == Element::kFp16) {
    std::vector<__half> rounded(values.size());
    copy(rounded.data());
    std::transform(rounded.begin(), rounded.end(), values.begin(), __half2float);
  } else {
    copy(values.data());
  }
  return values;
}

void write(const std::vector<float>& values, const Buffer& buffer, cudaStream_t stream) {
  expect_contiguous(buffer);
  const auto copy = [&](const void* from) {
    check(cudaMemcpyAsync(buffer.data, from, bytes(buffer), cudaMemcpyHostToDevice, stream));
    check(cudaStreamSynchronize(stream));
  };
  if (buffer.element == Element::kBf16) {
    std::vector<__nv_bfloat16> rounded(values.size());
    std::transform(values.begin(), values.end(), rounded.begin(), __float2bfloat16);
    copy(rounded.data());
  } else if (buffer.element == Element::kFp16) {
    std::vector<__half> rounded(values.size());
    std::transform(values.begin(), values.end(), rounded.begin(), __float2half);
    copy(rounded.data());
  } else {
    copy(values.data());
  }
}

Event event(unsigned flags) {
  cudaEvent_t made = nullptr;
  check(cudaEventCreateWithFlags(&made, flags));
  return Event(made);
}

float best_milliseconds(cudaStream_t stream, const std::function<void()>& run) {
  const Event begin = event();
  const Event end = event();
  run();
  float best = std::numeric_limits<float>::infinity();
  for (int i = 0; i < kTries; ++i) {
    check(cudaEventRecord(begin.get(), stream));
    run();
    check(cudaEventRecord(end.get(), stream));
    check(cudaEventSynchronize(end.get()));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
    best = std::min(best, milliseconds);
  }
  return best;
}

}  // namespace fathom::ops::cuda
