#include "ops/kernels/cuda/launch.h"
#include "ops/kernels/cuda/nms.h"

namespace fathom::ops {
namespace {

template <typename T>
__global__ void write_mask(const Box<T>* __restrict__ boxes, int64_t count, T most,
                           uint64_t* __restrict__ mask) {
  for (int64_t i = first_index(); i < mask_words(count) * count; i += index_stride())
    mask[i] = mask_word(boxes, count, i % count, i / count, most);
}

/// One block of threads decides 64 boxes after the other.
__global__ void decide(const uint64_t* __restrict__ mask, int64_t count,
                       int64_t* __restrict__ kept) {
  extern __shared__ uint64_t suppressed[];  // [mask_words(count)]
  __shared__ uint64_t own[kWordBits];
  __shared__ uint64_t chosen;
  const int64_t words = mask_words(count);
  for (int64_t i = threadIdx.x; i < words; i += blockDim.x) suppressed[i] = 0;
  int64_t found = 0;  // of thread 0
  for (int64_t word = 0; word < words; ++word) {
    const int64_t first = word * kWordBits;
    const int64_t boxes = min(kWordBits, count - first);
    if (threadIdx.x < boxes) own[threadIdx.x] = mask[word * count + first + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
      chosen = kept_bits(own, boxes, suppressed[word]);
      for (int64_t i = 0; i < boxes; ++i) {
        if ((chosen >> i & 1) != 0) kept[found++] = first + i;
      }
    }
    __syncthreads();
    for (int64_t later = word + 1 + threadIdx.x; later < words; later += blockDim.x)
      suppressed[later] |= suppressed_bits(mask + later * count + first, boxes, chosen);
    __syncthreads();
  }
  if (threadIdx.x == 0) kept[count] = found;
}

}  // namespace

const char* nms(const NmsCall& call) {
  const int64_t words = mask_words(call.count);
  const auto stream = static_cast<cudaStream_t>(call.stream);
  return launch(call.element, [&](auto /*element*/, auto number) {
    using T = decltype(number);
    if (call.count > 0) {
      write_mask<<<blocks_over(words * call.count), kThreads, 0, stream>>>(
          static_cast<const Box<T>*>(call.boxes), call.count, static_cast<T>(call.max_overlap),
          call.mask);
    }
    decide<<<1, kThreads, static_cast<unsigned>(words) * sizeof(uint64_t), stream>>>(
        call.mask, call.count, call.kept);
  });
}

}  // namespace fathom::ops
