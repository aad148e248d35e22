// A malloc() that is not the C library's, as that of jemalloc or tcmalloc, for
// tests/program/environment_test.py.
#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t size);  // NOLINT(bugprone-reserved-identifier): of glibc

void* malloc(std::size_t size) { return __libc_malloc(size); }
}
