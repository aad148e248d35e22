#include "ops/backends/operators/kernel_library.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace fathom::ops {
namespace {

std::string refusal(const std::string& path) {
  try {
    library_name(path);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

TEST(KernelLibrary, IsNamedAfterItsFile) {
  EXPECT_EQ(library_name("/opt/kernels/libmy-GEMM_2.so"), "my-GEMM_2");
}

TEST(KernelLibrary, RefusesOtherFileNames) {
  for (const char* path : {"mine.so", "libmine.a", "lib.so", "libmine.so.1", ""})
    EXPECT_NE(refusal(path).find("expected a file name lib<name>.so"), std::string::npos) << path;
}

TEST(KernelLibrary, RefusesCharactersThatRowNamesDoNotHave) {
  for (const char* path : {"liba.b.so", "liba:b.so", "liba b.so"})
    EXPECT_NE(refusal(path).find("characters other than"), std::string::npos) << path;
}

TEST(KernelLibrary, RefusesNamesOfOtherBackends) {
  for (const char* name : {"torch", "onednn", "cublas", "cudnn", "native", "tuned", "library"}) {
    EXPECT_NE(refusal("lib" + std::string(name) + ".so").find("that of another backend"),
              std::string::npos)
        << name;
  }
}

}  // namespace
}  // namespace fathom::ops
