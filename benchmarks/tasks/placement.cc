#include "benchmarks/tasks/placement.h"

#include <ATen/ops/from_blob.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>

namespace fathom::benchmarks {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLine = 64;  // LibTorch's own alignment

/// Runs before any library's constructors, and so before the first malloc.
void shift_heap(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  uint64_t random = 0;  // from the kernel, new in each process
  // NOLINTNEXTLINE(performance-no-int-to-ptr): getauxval() returns the address as an integer
  std::memcpy(&random, reinterpret_cast<const void*>(getauxval(AT_RANDOM)), sizeof random);
  sbrk(static_cast<intptr_t>(random % kPage));
}

__attribute__((section(".preinit_array"), used)) void (*const kShiftHeap)(int, char**,
                                                                          char**) = shift_heap;

/// The offset of the next tensor in its page, in bytes; the sequence differs between processes.
std::size_t next_offset() {
  static std::mt19937_64 random{std::random_device{}()};
  return kLine * std::uniform_int_distribution<std::size_t>(0, kPage / kLine - 1)(random);
}

at::Tensor copied_at_random_offset(const at::Tensor& tensor) {
  if (!tensor.device().is_cpu()) return tensor.clone();
  const std::size_t offset = next_offset();
  const std::size_t pages = (offset + tensor.storage().nbytes()) / kPage + 1;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kPage, pages * kPage));
  if (memory == nullptr) throw std::bad_alloc();
  at::Tensor copy = at::from_blob(
      memory + offset, tensor.sizes(), tensor.strides(), [memory](void*) { std::free(memory); },
      tensor.options());
  return copy.copy_(tensor);
}

}  // namespace

ops::Tensors copied_at_random_offset(const ops::Tensors& tensors) {
  ops::Tensors copies;
  for (const auto& tensor : tensors) copies.push_back(copied_at_random_offset(tensor));
  return copies;
}

}  // namespace fathom::benchmarks
