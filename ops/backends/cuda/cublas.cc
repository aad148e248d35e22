#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>

#include "ops/backends/cuda/device_memory.h"
#include "ops/backends/cuda/fastest.h"
#include "ops/backends/cuda/vendor_kernels.h"
#include "ops/core/kernel.h"

namespace fathom::ops::cuda {
namespace {

constexpr int kAlgorithms = 10;
constexpr uint64_t kMaxWorkspace = uint64_t{64} << 20;

void check_cublas(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string message = std::string("cuBLAS: ") + cublasLtGetStatusName(status);
  switch (status) {
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
      throw NotSupported(message);
    case CUBLAS_STATUS_ALLOC_FAILED:
      throw OutOfMemory(message);
    default:
      throw std::runtime_error(message);
  }
}

/// One handle for the process, never destroyed.
cublasLtHandle_t handle() {
  static const cublasLtHandle_t made = [] {
    cublasLtHandle_t fresh = nullptr;
    check_cublas(cublasLtCreate(&fresh));
    return fresh;
  }();
  return made;
}

cudaDataType_t data_type(Element element) {
  switch (element) {
    case Element::kFp16:
      return CUDA_R_16F;
    case Element::kBf16:
      return CUDA_R_16BF;
    case Element::kE4m3:
      return CUDA_R_8F_E4M3;
    case Element::kS8:
      return CUDA_R_8I;
    case Element::kS32:
      return CUDA_R_32I;
    default:
      return CUDA_R_32F;
  }
}

/// cuBLAS is column-major, so a row-major matrix is described as its transpose.
struct Matrix {
  explicit Matrix(const Buffer& buffer) {
    const std::size_t axes = buffer.sizes.size();
    const int64_t rows = buffer.sizes[axes - 2];
    const int64_t columns = buffer.sizes[axes - 1];
    transposed = columns != 1 && buffer.strides[axes - 1] != 1;
    if (transposed && rows != 1 && buffer.strides[axes - 2] != 1)
      throw NotSupported("cuBLAS has no product of matrices without an axis of stride 1");
    const int64_t inner = transposed ? rows : columns;
    const int64_t outer = transposed ? columns : rows;
    const int64_t stride = buffer.strides[transposed ? axes - 1 : axes - 2];
    check_cublas(cublasLtMatrixLayoutInit(
        &layout, data_type(buffer.element), static_cast<uint64_t>(inner),
        static_cast<uint64_t>(outer),
        std::max(stride, inner)));  // the stride of a single column is arbitrary
    if (axes > 2) {
      const auto batch = static_cast<int32_t>(buffer.sizes[0]);
      set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch);
      set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, buffer.strides[0]);
    }
  }

  template <typename Value>
  void set(cublasLtMatrixLayoutAttribute_t attribute, const Value& value) {
    check_cublas(cublasLtMatrixLayoutSetAttribute(&layout, attribute, &value, sizeof value));
  }

  cublasLtMatrixLayoutOpaque_t layout;
  bool transposed;
};

struct Algorithm {
  cublasLtMatmulAlgo_t algorithm;
  std::size_t workspace;
};

/// A product as cuBLAS computes it: cᵀ = bᵀ · aᵀ.
class Product {
 public:
  Product(const MatmulProblem& problem, const Target& target)
      : stream_(target.stream),
        a_(problem.a),
        b_(problem.b),
        c_(problem.c),
        added_(problem.c),
        a_data_(problem.a.data),
        b_data_(problem.b.data),
        c_data_(problem.c.data),
        added_data_(problem.c.data),
        integers_(problem.c.element == Element::kS32) {
    const bool tf32 = target.tf32 && problem.a.element == Element::kFp32;
    cublasComputeType_t arithmetic = tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    if (integers_) arithmetic = CUBLAS_COMPUTE_32I;
    check_cublas(
        cublasLtMatmulDescInit(&product_, arithmetic, integers_ ? CUDA_R_32I : CUDA_R_32F));
    set(CUBLASLT_MATMUL_DESC_TRANSA, b_.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, a_.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    expect_contiguous(problem.c);
    if (!problem.addend) return;
    expect_contiguous(*problem.addend);
    if (problem.addend->sizes.size() == 1) {  // one element per row of cᵀ
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, problem.addend->data);
    } else {
      added_ = Matrix(*problem.addend);
      added_data_ = problem.addend->data;
      beta_ = 1;
    }
  }

  /// Multiplies the codes' product with two numbers on the GPU.
  void scale(const void* of_a, const void* of_b) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, of_b);  // cublasLt's first factor is bᵀ
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, of_a);
  }

  Algorithm fastest() {
    cublasLtMatmulPreferenceOpaque_t preference;
    check_cublas(cublasLtMatmulPreferenceInit(&preference));
    check_cublas(cublasLtMatmulPreferenceSetAttribute(&preference,
                                                      CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                      &kMaxWorkspace, sizeof kMaxWorkspace));
    std::array<cublasLtMatmulHeuristicResult_t, kAlgorithms> offered{};
    int count = 0;
    check_cublas(cublasLtMatmulAlgoGetHeuristic(handle(), &product_, &b_.layout, &a_.layout,
                                                &added_.layout, &c_.layout, &preference,
                                                kAlgorithms, offered.data(), &count));
    const Memory scratch = allocate(kMaxWorkspace);
    Fastest<Algorithm> fastest;
    for (int i = 0; i < count; ++i) {
      const auto& candidate = offered[static_cast<std::size_t>(i)];
      fastest.attempt([&] {
        check_cublas(candidate.state);
        const Algorithm one{candidate.algo, candidate.workspaceSize};
        fastest.offer(one, best_milliseconds(stream_, [&] { multiply(one, scratch.get()); }));
      });
    }
    return fastest.found("cuBLAS has no algorithm for this product");
  }

  void multiply(const Algorithm& by, void* scratch) const {
    constexpr float kOne = 1;
    constexpr int32_t kIntegerOne = 1;
    const void* one = integers_ ? static_cast<const void*>(&kIntegerOne) : &kOne;
    // cublasLt takes non-const pointers to descriptors that it only reads.
    const auto layout = [](const Matrix& matrix) {
      return const_cast<cublasLtMatrixLayout_t>(&matrix.layout);
    };
    check_cublas(cublasLtMatmul(handle(), const_cast<cublasLtMatmulDesc_t>(&product_), one, b_data_,
                                layout(b_), a_data_, layout(a_), &beta_, added_data_,
                                layout(added_), c_data_, layout(c_), &by.algorithm, scratch,
                                by.workspace, stream_));
  }

 private:
  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check_cublas(cublasLtMatmulDescSetAttribute(&product_, attribute,
                                                static_cast<const void*>(&value), sizeof value));
  }

  cudaStream_t stream_;
  Matrix a_, b_, c_, added_;
  void *a_data_, *b_data_, *c_data_, *added_data_;
  float beta_ = 0;  ///< 0 is the same as an integer
  bool integers_;   ///< the sums
  cublasLtMatmulDescOpaque_t product_{};
};

std::string describe(const Algorithm& algorithm) {
  std::ostringstream text;
  const auto add = [&](const char* name, cublasLtMatmulAlgoConfigAttributes_t attribute) {
    int32_t value = 0;
    std::size_t written = 0;
    check_cublas(cublasLtMatmulAlgoConfigGetAttribute(&algorithm.algorithm, attribute, &value,
                                                      sizeof value, &written));
    text << name << value;
  };
  add("algo ", CUBLASLT_ALGO_CONFIG_ID);
  add(" tile ", CUBLASLT_ALGO_CONFIG_TILE_ID);
  add(" stages ", CUBLASLT_ALGO_CONFIG_STAGES_ID);
  add(" split-k ", CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  return text.str();
}

Plan plan_of(Product product, const MatmulProblem& problem, const Target& target) {
  Key key{static_cast<int64_t>(target.tf32)};
  for (const Buffer* buffer : {&problem.a, &problem.b, &problem.c}) add(key, *buffer);
  if (problem.addend) add(key, *problem.addend);
  const auto found = autotuned(key, [&] { return product.fastest(); });
  const Algorithm algorithm = found.choice;
  const auto run = [product, algorithm, scratch = workspace(algorithm.workspace)] {
    product.multiply(algorithm, scratch.get());
  };
  return {.implementation = describe(algorithm),
          .run = run,
          .workspace_bytes = algorithm.workspace,
          .search_us = found.us};
}

}  // namespace

Plan cublas_plan(const MatmulProblem& problem, const Target& target) {
  return plan_of(Product(problem, target), problem, target);
}

Plan cublas_plan(const QuantizedMatmulProblem& problem, const Target& target) {
  const MatmulProblem codes{.a = problem.a, .b = problem.b, .c = problem.c};
  if (problem.bias) throw NotSupported("cuBLAS adds no bias in fp32 to a product of codes");
  if (problem.a.element == Element::kU8)
    throw NotSupported("cuBLAS has no product of uint8 and int8");
  Product product(codes, target);
  if (!problem.quantization) return plan_of(product, codes, target);
  const Memory x_scale = allocate(sizeof(float));
  check(cudaMemcpyAsync(x_scale.get(), &problem.quantization->x_scale, sizeof(float),
                        cudaMemcpyHostToDevice, target.stream));
  check(cudaStreamSynchronize(target.stream));
  product.scale(x_scale.get(), problem.quantization->w_scales.data);
  Plan made = plan_of(product, codes, target);
  made.run = [run = made.run, x_scale] { run(); };
  return made;
}

}  // namespace fathom::ops::cuda
