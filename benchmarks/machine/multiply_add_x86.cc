#include <immintrin.h>

#include "benchmarks/machine/multiply_add.h"

namespace fathom::benchmarks {
namespace {

// Two pipes with a latency of four to five cycles need ten independent chains. Twelve fit sixteen
// registers, with the factor and the start.
constexpr int kChains = 12;

// The accumulators converge to start / (1 - factor): no overflow, no denormals.
constexpr float kFactor = 0.5F;
constexpr float kStart = 1.0F;

__attribute__((target("avx512f"))) float run_avx512(int64_t rounds) {
  const __m512 factor = _mm512_set1_ps(kFactor);
  const __m512 start = _mm512_set1_ps(kStart);
  __m512 chains[kChains];
  for (auto& chain : chains) chain = start;
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) chains[c] = _mm512_fmadd_ps(chains[c], factor, start);
  }
  float sum = 0;
  for (const auto& chain : chains) sum += chain[0];
  return sum;
}

__attribute__((target("avx2,fma"))) float run_avx2(int64_t rounds) {
  const __m256 factor = _mm256_set1_ps(kFactor);
  const __m256 start = _mm256_set1_ps(kStart);
  __m256 chains[kChains];
  for (auto& chain : chains) chain = start;
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) chains[c] = _mm256_fmadd_ps(chains[c], factor, start);
  }
  float sum = 0;
  for (const auto& chain : chains) sum += chain[0];
  return sum;
}

__attribute__((target("avx512f,avx512bf16"))) float run_avx512_bf16(int64_t rounds) {
  const auto factor = reinterpret_cast<__m512bh>(_mm512_setzero_si512());
  __m512 chains[kChains];
  for (auto& chain : chains) chain = _mm512_set1_ps(kStart);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) chains[c] = _mm512_dpbf16_ps(chains[c], factor, factor);
  }
  float sum = 0;
  for (const auto& chain : chains) sum += chain[0];
  return sum;
}

__attribute__((target("avx512f,avx512fp16"))) float run_avx512_fp16(int64_t rounds) {
  const __m512h factor = _mm512_set1_ph(kFactor);
  const __m512h start = _mm512_set1_ph(kStart);
  __m512h chains[kChains];
  for (auto& chain : chains) chain = start;
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) chains[c] = _mm512_fmadd_ph(chains[c], factor, start);
  }
  float sum = 0;
  for (const auto& chain : chains) sum += static_cast<float>(chain[0]);
  return sum;
}

}  // namespace

MultiplyAdd widest_multiply_add(fixtures::Precision precision) {
  if (precision == fixtures::Precision::kBf16 && __builtin_cpu_supports("avx512bf16") != 0) {
    return {"avx512bf16", 2.0 * 32 * kChains, run_avx512_bf16};
  }
  if (precision == fixtures::Precision::kFp16 && __builtin_cpu_supports("avx512fp16") != 0) {
    return {"avx512fp16", 2.0 * 32 * kChains, run_avx512_fp16};
  }
  // A CPU without products of 16 bits computes them in fp32.
  if (__builtin_cpu_supports("avx512f") != 0) return {"avx512f", 2.0 * 16 * kChains, run_avx512};
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    return {"avx2", 2.0 * 8 * kChains, run_avx2};
  }
  return {"", 0, nullptr};
}

}  // namespace fathom::benchmarks
