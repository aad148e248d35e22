#include "ops/onednn/matmul.h"

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "ops/onednn/memory.h"

namespace fathom::ops::onednn {
namespace {

using dnnl::memory;

/// A row-major [rows, columns] factor, or the transpose of a stored [columns, rows] one.
memory::desc factor(int64_t rows, int64_t columns, bool transposed, memory::data_type type) {
  return {{rows, columns}, type, transposed ? memory::format_tag::ba : memory::format_tag::ab};
}

class Matmul final : public Kernel {
 public:
  Matmul(const MatmulShape& shape, fixtures::Precision precision, const void* a, const void* b,
         const void* bias, void* c)
      : stream_(engine()) {
    const auto type = data_type(precision);
    const auto& [m, n, k, transpose_a, transpose_b, has_bias] = shape;
    const memory::desc any_a({m, k}, type, memory::format_tag::any);
    const memory::desc any_b({k, n}, type, memory::format_tag::any);
    const memory::desc plain_c({m, n}, type, memory::format_tag::ab);
    const memory::desc bias_desc({1, n}, type, memory::format_tag::ab);
    const auto primitive =
        has_bias ? dnnl::matmul::primitive_desc(engine(), any_a, any_b, bias_desc, plain_c)
                 : dnnl::matmul::primitive_desc(engine(), any_a, any_b, plain_c);
    implementation_ = primitive.impl_info_str();
    matmul_ = dnnl::matmul(primitive);
    arguments_ = {{DNNL_ARG_SRC,
                   reordered(factor(m, k, transpose_a, type), a, primitive.src_desc(), stream_)},
                  {DNNL_ARG_WEIGHTS, reordered(factor(k, n, transpose_b, type), b,
                                               primitive.weights_desc(), stream_)},
                  {DNNL_ARG_DST, memory(plain_c, engine(), c)}};
    if (has_bias) arguments_.emplace(DNNL_ARG_BIAS, wrapped(bias_desc, bias));
  }

  void run() override {
    matmul_.execute(stream_, arguments_);
    stream_.wait();
  }

  std::string implementation() const override { return implementation_; }

 private:
  dnnl::stream stream_;
  dnnl::matmul matmul_;
  std::string implementation_;
  std::unordered_map<int, memory> arguments_;
};

}  // namespace

std::unique_ptr<Kernel> matmul(const MatmulShape& shape, fixtures::Precision precision,
                               const void* a, const void* b, const void* bias, void* c) {
  return std::make_unique<Matmul>(shape, precision, a, b, bias, c);
}

}  // namespace fathom::ops::onednn
