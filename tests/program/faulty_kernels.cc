// A library for --fathom_kernels in tests/program/kernels_test.py, which copies it to
// lib<fault>.so: its file name says what is wrong with its kernel of aten::addmm.
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros_like.h>
#include <dlfcn.h>
#include <torch/library.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

/// Whether this file is lib<fault>.so.
bool has(std::string_view fault) {
  static const char here = 0;
  Dl_info info;
  dladdr(&here, &info);
  const std::string_view path = info.dli_fname;
  return path.substr(path.rfind("/lib") + 4) == std::string(fault) + ".so";
}

at::Tensor addmm(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b,
                 const at::Scalar& beta, const at::Scalar& alpha) {
  if (has("crashes")) std::raise(SIGSEGV);
  const at::Tensor sum = at::add(at::mul(at::mm(a, b), alpha), at::mul(c, beta));
  return has("wrong") ? at::zeros_like(sum) : sum;
}

at::Tensor& addmm_out(const at::Tensor& c, const at::Tensor& a, const at::Tensor& b,
                      const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
  return out.copy_(addmm(c, a, b, beta, alpha));
}

at::Tensor unary(const at::Tensor& a) { return a; }

}  // namespace

TORCH_LIBRARY_IMPL(aten, CPU, m) {
  if (has("crashes_at_load")) std::raise(SIGSEGV);
  if (has("exits_at_load")) std::exit(0);
  if (has("prints_at_load")) std::puts("a line of the library");
  if (has("unused")) {
    m.impl("cosh", unary);
  } else if (has("overload")) {
    m.impl("addmm.out", addmm_out);
  } else if (has("misfits")) {
    m.impl("addmm", unary);
  } else if (!has("registers_nothing")) {
    m.impl("addmm", addmm);
  }
}
