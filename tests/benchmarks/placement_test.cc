#include "benchmarks/tasks/placement.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>

#include "tests/benchmarks/own_process.h"

namespace fathom::benchmarks {
namespace {

uint64_t address(const at::Tensor& tensor) {
  return reinterpret_cast<uint64_t>(tensor.const_data_ptr());
}

/// Larger than all blocks that constructors freed, so that malloc takes it from the heap's end.
void* const kEarly = std::malloc(100'000);

TEST(Heap, BeginsAtAnotherAddressInEachProcess) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer has its own malloc";
#endif
  std::set<std::string> places;
  for (int i = 0; i < 8; ++i) {
    places.insert(in_own_process([] { std::cerr << reinterpret_cast<uint64_t>(kEarly) % 4096; }));
  }
  EXPECT_GE(places.size(), 5U);  // 8 draws from 256 places
}

TEST(CopiedAtRandomOffset, CopiesValuesTypesAndLayouts) {
  const ops::Tensors tensors{at::randn({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast),
                             at::randn({7}).to(at::kBFloat16), at::randn({}), at::randn({0, 3})};
  const ops::Tensors copies = copied_at_random_offset(tensors);
  ASSERT_EQ(copies.size(), tensors.size());
  for (std::size_t i = 0; i < copies.size(); ++i) {
    EXPECT_TRUE(at::equal(copies[i], tensors[i])) << i;
    EXPECT_EQ(copies[i].strides(), tensors[i].strides()) << i;
    EXPECT_EQ(copies[i].scalar_type(), tensors[i].scalar_type()) << i;
    EXPECT_EQ(copies[i].storage().nbytes(), tensors[i].storage().nbytes()) << i;
  }
}

TEST(CopiedAtRandomOffset, UsesAllCacheLinesOfAPage) {
  std::set<uint64_t> places;
  for (int i = 0; i < 64; ++i) {
    const ops::Tensors both = copied_at_random_offset({at::randn({50, 64}), at::randn({50, 64})});
    places.insert((address(both[1]) - address(both[0])) % 4096);
  }
  // 64 draws from 64 places hit 40.6 of them on average, standard deviation 3.
  EXPECT_GT(places.size(), 25U);
  for (const uint64_t place : places) EXPECT_EQ(place % 64, 0U);
}

}  // namespace
}  // namespace fathom::benchmarks
